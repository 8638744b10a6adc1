"""Plan the steps of a rebalance, and name the nodes to create and to delete in each.

A rebalance consults the policies as a resize would, so that the checks of its steps lead to the
places that it planned. It writes nothing: the engine carries out the steps, and may stop after any.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from itertools import islice
from typing import Any, Self

from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, Location
from placement_worker.contract.model import (
    Action,
    CheckRequest,
    MovedNode,
    Node,
    PlaceOfNode,
    RebalanceImbalance,
    RebalanceReply,
    RebalanceRequest,
    RebalanceStep,
    in_utc,
)
from placement_worker.errors import NoPlacement, SizeOutOfBounds
from placement_worker.formats.text import counted, listed, shortened
from placement_worker.handlers import chain
from placement_worker.handlers.chain import Link
from placement_worker.planning import rebalancing, victims
from placement_worker.planning.rebalancing import Holding, Imbalance, Step
from placement_worker.planning.shortage import creation_failed
from placement_worker.policies.base import BEFORE, State
from placement_worker.policies.deletion import Deletion, DeletionProperties
from placement_worker.policies.load_balancing.policy import LoadBalancing
from placement_worker.policies.rebalanced_places import Layout, layout, places_not_emptied
from placement_worker.policies.region_placement import RegionPlacement
from placement_worker.policies.resolved_places import backoff_of
from placement_worker.policies.zone_placement import ZonePlacement

_FIRST_CREATE = 'a rebalance creates nodes before it deletes others'


def as_resize(request: RebalanceRequest) -> CheckRequest:
    """Return a check that consults the same policies as the checks of each step.

    The id of the cluster seeds random choices, so the same cluster gets the same plan.
    """
    return CheckRequest(
        target=BEFORE,
        action=Action(request.cluster.id, actions.CLUSTER_RESIZE),
        cluster=request.cluster,
        policies=request.policies,
        dry_run=True,
        credentials=request.credentials,
        expires_at=request.expires_at,
    )


def plan_rebalance(
    request: RebalanceRequest, links: Sequence[Link], state: State
) -> RebalanceReply:
    """`links` are those of `as_resize`.

    :raises Rejected: no plan is possible, or the engine would refuse it.
    """
    resize, options = as_resize(request), request.options
    policies = _Policies.of(links)
    protected = state.protected(resize)
    ordered = policies.counted(state.members.ordered)
    staying = {*protected, *_too_young(request, state)}
    by_id = state.members.ranks.items()
    ranks = {node_id: rank for node_id, rank in by_id if node_id not in protected}
    current = layout(state.places, ordered, staying, ranks)
    immovable = [node for node in request.cluster.nodes if node.id in protected]
    transfers = list(rebalancing.transfers(current.regions, Fraction(str(options.min_gain))))
    surge = _surge(request, state.max_nodes) if transfers else options.max_surge
    chosen = islice(transfers, options.max_moves)
    new_node = victims.NEW_NODE[state.members.criteria]
    steps = _until_probe(rebalancing.steps(current.regions, chosen, surge, new_node), current)
    warnings = [
        *policies.warnings(resize, state),
        *victims.unparsed_protections(protected),
        *places_not_emptied(state.places, immovable),
        *_unplaced(current),
        *_limited(request, surge),
    ]
    leaving = {place: iter(nodes) for place, nodes in current.movable.items()}
    before = rebalancing.nodes_by_place(current.regions)
    return RebalanceReply(
        'OK',
        _reason(sum(len(step.transfers) for step in steps), len(steps), len(transfers)),
        warnings,
        _imbalance(rebalancing.imbalance(current.regions, before), policies),
        [_step(step, leaving, policies) for step in steps],
        _details(current, steps, policies),
    )


@dataclass(frozen=True, slots=True)
class _Policies:
    """The policies of a cluster that a rebalance reads.

    `deletion`: the properties of the deletion policy, or their defaults. `load_balancing`: the ids
    of the policies that change members in the checks of each step.
    """

    regions: RegionPlacement | None
    zones: ZonePlacement | None
    deletion: DeletionProperties
    load_balancing: Sequence[str]

    @classmethod
    def of(cls, links: Sequence[Link]) -> Self:
        _, reason = chain.conflict(links)
        if reason:
            raise NoPlacement(reason)
        consulted = chain.consulted(links)
        regions = chain.first_policy(consulted, RegionPlacement)
        zones = chain.first_policy(consulted, ZonePlacement)
        if not regions and not zones:
            raise NoPlacement('No enabled zone or region placement policy applies to the cluster.')
        deletion = chain.first_policy(consulted, Deletion)
        pools = [link.binding.id for link in consulted if isinstance(link.policy, LoadBalancing)]
        return cls(regions, zones, deletion.properties if deletion else DeletionProperties(), pools)

    def counted(self, nodes: Sequence[Node]) -> Sequence[Node]:
        """Return the nodes that hold room in their place, as a creation counts them."""
        policies = [policy for policy in (self.regions, self.zones) if policy]
        if not any(backoff_of(policy.properties) for policy in policies):
            return nodes
        return [node for node in nodes if not creation_failed(node)]

    def warnings(self, request: CheckRequest, state: State) -> list[str]:
        texts: list[str] = []
        if self.regions:
            texts += self.regions.warnings_of_unknown([state.cloud.regions])
        if self.zones and self.regions:
            names = [region.name for region in state.places.regions(CREATION) if region.known]
            texts += self.zones.warnings_of_zones_in_no_region(names, state)
        elif self.zones:
            texts += self.zones.warnings_of_unknown(
                [state.cloud.zones(request.cluster.profile.region)]
            )
        texts += [
            f'Version 1.1 of {policy.name} with `spread` in mode strict may refuse a scale-out: '
            'use mode best_effort until the last step is done'
            for policy in (self.regions, self.zones)
            if policy and policy.properties.spread.mode == 'strict'
        ]
        if not self.deletion.reduce_desired_capacity:
            texts.append(
                'The deletion policy does not reduce the desired capacity: each step increases it; '
                f'set it to {len(request.cluster.nodes)} after the last step'
            )
        return texts


def _until_probe(steps: Iterable[Step], current: Layout) -> list[Step]:
    """Return the steps up to the first that probes a place which was short of capacity.

    The result of the probe decides where placement creates the next nodes.
    """
    taken: list[Step] = []
    for step in steps:
        taken.append(step)
        if any(transfer.destination in current.probed for transfer in step.transfers):
            break
    return taken


def _too_young(request: RebalanceRequest, state: State) -> Collection[str]:
    if not request.options.min_age_s:  # a clock that is wrong makes no node too young
        return ()
    oldest = state.now - timedelta(seconds=request.options.min_age_s)
    return [
        node.id
        for node in request.cluster.nodes
        if node.created_at and in_utc(node.created_at) > oldest
    ]


def _surge(request: RebalanceRequest, max_nodes: int) -> int:
    """Return the number of nodes that a step may add."""
    cluster, held = request.cluster, len(request.cluster.nodes)
    if held < cluster.min_size:
        raise SizeOutOfBounds(
            f'The cluster has {counted(held, "node")}, fewer than its min_size '
            f'({cluster.min_size}): the engine would refuse to delete nodes; scale out first'
        )
    if 0 <= cluster.max_size <= held:
        raise SizeOutOfBounds(
            f'The cluster has {counted(held, "node")}, and its max_size is {cluster.max_size}: '
            f'{_FIRST_CREATE}; increase max_size to at least {held + 1}'
        )
    if max_nodes <= held:
        raise SizeOutOfBounds(
            f'The cluster has {counted(held, "node")}, and the maximum number of nodes allowed per '
            f'cluster is {max_nodes}: {_FIRST_CREATE}'
        )
    largest = min(max_nodes, cluster.max_size) if cluster.max_size >= 0 else max_nodes
    return min(request.options.max_surge, largest - held)


def _limited(request: RebalanceRequest, surge: int) -> list[str]:
    max_surge, held = request.options.max_surge, len(request.cluster.nodes)
    if surge == max_surge:
        return []
    return [
        f'Each step adds at most {counted(surge, "node")} instead of {max_surge}: the cluster has '
        f'{counted(held, "node")}, and its maximum size is {held + surge}'
    ]


def _unplaced(current: Layout) -> list[str]:
    if not current.unplaced:
        return []
    ids = listed(sorted(node.id for node in current.unplaced), shortened)
    return [f'The place of {counted(len(current.unplaced), "node")} is unknown; not moved: {ids}']


def _reason(moves: int, steps: int, possible: int) -> str:
    """:param possible: the number of moves without `max_moves`."""
    if not moves:
        return 'No move leads to better counts.'
    reason = f'{counted(moves, "move")} in {counted(steps, "step")}'
    rest = possible - moves
    return f'{reason}; a later rebalance finds {counted(rest, "more move")}' if rest else reason


def _step(
    step: Step, leaving: Mapping[Location, Iterator[Node]], policies: _Policies
) -> RebalanceStep:
    moved = [(next(leaving[transfer.source]), transfer.source) for transfer in step.transfers]
    criteria = policies.deletion.criteria
    return RebalanceStep(
        create=[PlaceOfNode(*transfer.destination) for transfer in step.transfers],
        scale_out=step.scale_out,
        load_balancing=list(policies.load_balancing),
        delete=[
            MovedNode(node.id, node.name, PlaceOfNode(*place), victims.reason(node, criteria))
            for node, place in moved
        ],
        grace_period=policies.deletion.grace_period,
        imbalance=_imbalance(step.after, policies),
    )


def _imbalance(imbalance: Imbalance, policies: _Policies) -> RebalanceImbalance:
    return RebalanceImbalance(
        imbalance.misplaced,
        float(imbalance.regions) if policies.regions else None,
        float(imbalance.zones) if policies.zones else None,
    )


def _details(layout: Layout, steps: Sequence[Step], policies: _Policies) -> dict[str, Any]:
    after = rebalancing.nodes_by_place(layout.regions)
    for step in steps:
        after.subtract(transfer.source for transfer in step.transfers)
        after.update(transfer.destination for transfer in step.transfers)
    in_regions = {
        region.name: sum(after[region.name, zone.name] for zone in region.zones)
        for region in layout.regions
    }
    details: dict[str, Any] = {'unplaced': len(layout.unplaced)}
    if policies.regions:
        details['regions'] = _rows([region.holding for region in layout.regions], in_regions)
    if policies.zones:
        details['zones'] = [
            {**({'region_name': region.name} if policies.regions else {}), **row}
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
    weight = sum(place.weight for place in holdings)
    total = sum(after[place.name] for place in holdings if place.weight)
    return [
        {
            'name': place.name or '-',
            'weight': place.weight,
            'usable': place.most > place.held,
            'current': place.held,
            'staying': place.fixed,
            'ideal': round(total * place.weight / weight, 2) if weight else 0.0,
            'final': after[place.name],
            'note': place.note,
        }
        for place in holdings
    ]
