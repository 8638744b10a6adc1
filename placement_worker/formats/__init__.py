"""Formats of text and documents; this package imports nothing else of the project."""
