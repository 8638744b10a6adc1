"""Check the arguments of a plan: its kind, and its counts by place."""

from collections.abc import Mapping, Sequence
from typing import Any

from placement_worker.formats.text import counted


def check(kind: str, count: int, plan: Mapping[str, Any], entries: Sequence[object]) -> None:
    """Check the arguments of a policy that plans.

    A plan may have fewer nodes by zone: some are created without a zone, or are in an unknown one.

    :param entries: the place of each node to create; none if the policy names no places.
    :raises ValueError: the kind is unknown, the counts by region or zone exceed `count`, or there
        is not one entry for each node.
    """
    if kind not in ('creation', 'deletion'):
        raise ValueError(f"kind must be 'creation' or 'deletion', got {kind!r}")
    for key in ('regions', 'zones'):
        total = sum(plan.get(key, {}).values())
        if total > count:
            raise ValueError(f'{key} must have at most {counted(count, "node")}, got {total}')
    if entries and len(entries) != count:
        raise ValueError(f'entries must have {counted(count, "place")}, got {len(entries)}')
