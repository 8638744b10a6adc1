"""How numbers are told to people."""

SHOWN_IF_ZERO = frozenset({'possible'})
"""Details of a decision that say something even if they are 0."""


def nodes(count: object) -> str:
    """So many nodes, in words."""
    return '1 node' if count == 1 else f'{count} nodes'


def is_shown(detail: str, value: object) -> bool:
    """Return whether a detail of a decision is shown; most say nothing if they are empty or 0."""
    return bool(value) or detail in SHOWN_IF_ZERO


def is_number(value: object) -> bool:
    """Whether it stands right in a column."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
