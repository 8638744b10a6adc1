"""The cloud that a file describes, with an Octavia simulator."""
