"""Format the plan of a rebalance for people: the steps, and each place before and after."""

from collections.abc import Iterator, Sequence
from typing import Any

from placement_worker.cmd import draining, output
from placement_worker.cmd.colors import Paint
from placement_worker.contract.model import (
    PlaceOfNode,
    RebalanceImbalance,
    RebalanceReply,
    RebalanceRequest,
    RebalanceStep,
)
from placement_worker.formats.text import counted, escaped

SCALE_OUT = 'a scale-out'
PROFILE = 'a profile that names the place'


def shown(reply: RebalanceReply, request: RebalanceRequest, paint: Paint) -> str:
    """Return the plan as text, with the imbalance before and after."""
    cluster = request.cluster
    title = (
        f'Rebalance of cluster {cluster.name or cluster.id} '
        f'({counted(len(cluster.nodes), "node")}): '
    )
    lines = [
        *output.warnings(reply.warnings, paint),
        escaped(title) + paint(reply.status, 'green' if reply.status == 'OK' else 'red'),
        escaped(reply.reason),
    ]
    if reply.imbalance:
        after = reply.steps[-1].imbalance if reply.steps else reply.imbalance
        lines += [f'{output.INDENT}{one}' for one in _changes(reply.imbalance, after)]
    for key, value in reply.details.items():
        lines += output.detail(key, value)
    if reply.steps:
        lines += output.detail('steps', [row for rows in _rows(reply.steps) for row in rows])
        lines += _members(reply.steps[0])
    return '\n'.join([*lines, ''])


def _changes(before: RebalanceImbalance, after: RebalanceImbalance) -> Iterator[str]:
    """Yield the imbalance before and after the plan."""
    if before.misplaced:
        yield f'misplaced nodes: {before.misplaced} -> {after.misplaced}'
    for name, was, now in (
        ('regions', before.regions, after.regions),
        ('zones', before.zones, after.zones),
    ):
        if was is not None and now is not None:
            yield f'deviation of the {name}: {was:.4g} -> {now:.4g}'


def _rows(steps: Sequence[RebalanceStep]) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of each step, one per move."""
    for number, step in enumerate(steps, start=1):
        yield [
            {
                'step': number,
                'create_in': _place(place),
                'by': SCALE_OUT if step.scale_out else PROFILE,
                'then_delete': victim.name or victim.id,
                'of': _place(victim.place),
                'reason': victim.reason,
            }
            for place, victim in zip(step.create, step.delete, strict=True)
        ]


def _place(place: PlaceOfNode) -> str:
    return '/'.join(filter(None, (place.region_name, place.zone)))


def _members(step: RebalanceStep) -> list[str]:
    """Return a line about the pool members of each step, or none."""
    if not step.load_balancing:
        return []
    wait = f'; {draining.sentence(step.grace_period)}' if step.grace_period else ''
    return [
        f'{output.INDENT}members: added AFTER the creation, removed BEFORE the deletion by the '
        f'checks of the engine{wait}'
    ]
