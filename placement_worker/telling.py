"""How numbers are told to people."""


def nodes(count: object) -> str:
    """So many nodes, in words."""
    return '1 node' if count == 1 else f'{count} nodes'


def is_number(value: object) -> bool:
    """Whether it stands right in a column."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
