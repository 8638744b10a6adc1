"""The cordon file: read it, and read it again when it changes."""
