"""The errors of the container engine."""


class APIError(Exception):
    """A request failed."""
