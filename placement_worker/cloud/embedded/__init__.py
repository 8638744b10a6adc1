"""A cloud described by a file, with an Octavia simulator."""
