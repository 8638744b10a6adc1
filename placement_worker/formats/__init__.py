"""Documents in YAML and JSON, and text for people; imports nothing else of this project.

Read `documents` first. `text` has what every message needs: bounded lists, escapes, hints.
"""
