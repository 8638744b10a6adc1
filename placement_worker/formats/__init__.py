"""Documents, and text for people; imports nothing else of this project."""
