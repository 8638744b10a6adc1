"""Handle requests, independent of their transport."""
