"""The reply to a request for a rebalance: its steps, with the victims by name."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from placement_worker.contract.model import (
    MovedNode,
    Node,
    PlaceOfNode,
    RebalanceImbalance,
    RebalanceReply,
    RebalanceStep,
)
from placement_worker.formats.text import counted
from placement_worker.planning import rebalancing, victims
from placement_worker.planning.rebalancing import Holding, Imbalance, Place, Step
from placement_worker.policies.deletion import DeletionProperties
from placement_worker.policies.rebalanced_places import Layout

BALANCED = 'No move leads to better counts.'


class Bound(Protocol):
    """The policies of the cluster, as far as a reply shows them."""

    @property
    def regions(self) -> object | None:
        """The policy that places by region, or None."""

    @property
    def zones(self) -> object | None:
        """The policy that places by zone, or None."""

    @property
    def deletion(self) -> DeletionProperties:
        """The properties of the deletion policy."""

    @property
    def load_balancing(self) -> Sequence[str]:
        """The ids of the load-balancing policies."""


def reply(
    layout: Layout, steps: Sequence[Step], possible: int, bound: Bound, warnings: Sequence[str]
) -> RebalanceReply:
    """Return the reply with these steps.

    :param possible: the number of moves without `max_moves`.
    """
    leaving = {place: iter(nodes) for place, nodes in layout.movable.items()}
    before = rebalancing.nodes_by_place(layout.regions)
    return RebalanceReply(
        'OK',
        _reason(sum(len(step.transfers) for step in steps), len(steps), possible),
        list(warnings),
        _imbalance(rebalancing.imbalance(layout.regions, before), bound),
        [_step(step, leaving, bound) for step in steps],
        _details(layout, steps, bound),
    )


def _reason(moves: int, steps: int, possible: int) -> str:
    if not moves:
        return BALANCED
    reason = f'{counted(moves, "move")} in {counted(steps, "step")}'
    rest = possible - moves
    return f'{reason}; a later rebalance finds {counted(rest, "more move")}' if rest else reason


def _step(step: Step, leaving: Mapping[Place, Iterator[Node]], bound: Bound) -> RebalanceStep:
    return RebalanceStep(
        create=[PlaceOfNode(*one.destination) for one in step.transfers],
        scale_out=step.scale_out,
        load_balancing=list(bound.load_balancing),
        delete=[_moved(next(leaving[one.source]), one.source, bound) for one in step.transfers],
        grace_period=bound.deletion.grace_period,
        imbalance=_imbalance(step.after, bound),
    )


def _moved(node: Node, place: Place, bound: Bound) -> MovedNode:
    reason = victims.reason(node, bound.deletion.criteria)
    return MovedNode(node.id, node.name, PlaceOfNode(*place), reason)


def _imbalance(found: Imbalance, bound: Bound) -> RebalanceImbalance:
    return RebalanceImbalance(
        found.misplaced,
        float(found.regions) if bound.regions else None,
        float(found.zones) if bound.zones else None,
    )


def _details(layout: Layout, steps: Sequence[Step], bound: Bound) -> dict[str, Any]:
    after = rebalancing.nodes_by_place(layout.regions)
    for step in steps:
        after.subtract(one.source for one in step.transfers)
        after.update(one.destination for one in step.transfers)
    in_regions = {
        region.name: sum(after[region.name, zone.name] for zone in region.zones)
        for region in layout.regions
    }
    details: dict[str, Any] = {'unplaced': len(layout.unplaced)}
    if bound.regions:
        details['regions'] = _rows([one.holding for one in layout.regions], in_regions)
    if bound.zones:
        details['zones'] = [
            {**({'region_name': region.name} if bound.regions else {}), **row}
            for region in layout.regions
            for row in _rows(
                region.zones, {zone.name: after[region.name, zone.name] for zone in region.zones}
            )
        ]
    return details


def _rows(
    holdings: Sequence[Holding], after: Mapping[str | None, int]
) -> list[dict[str, str | int | float | bool]]:
    """Return a row per place; `staying` nodes are protected, too young, or in no known place."""
    weight = sum(one.weight for one in holdings)
    total = sum(after[one.name] for one in holdings if one.weight)
    return [
        {
            'name': one.name or '-',
            'weight': one.weight,
            'usable': one.most > one.held,
            'current': one.held,
            'staying': one.fixed,
            'ideal': round(total * one.weight / weight, 2) if weight else 0.0,
            'final': after[one.name],
            'note': one.note,
        }
        for one in holdings
    ]
