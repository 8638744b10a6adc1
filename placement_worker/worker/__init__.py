"""The processes of the worker and their wiring."""
