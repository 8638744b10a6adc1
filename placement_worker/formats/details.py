"""Rules for the details of a decision that tables show."""

SHOWN_IF_ZERO = frozenset({'possible'})
"""Details of a decision that are shown even if they are 0."""


def is_shown(detail: str, value: object) -> bool:
    """Return whether to show a detail of a decision; most are hidden if they are empty or 0."""
    return bool(value) or detail in SHOWN_IF_ZERO


def is_number(value: object) -> bool:
    """Return whether a value is a number, which tables align right."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
