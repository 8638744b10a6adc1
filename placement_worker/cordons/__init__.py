"""The cordon file: read it, read it again when it changes, and edit it."""
