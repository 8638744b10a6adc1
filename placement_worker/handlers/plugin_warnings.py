"""Warn of decisions of a plugin that may be mistakes: lost plans, unknown places, odd victims."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from placement_worker.contract.action_data import (
    CREATION,
    DELETION,
    ActionData,
    Deletion,
    Placement,
)
from placement_worker.contract.model import CheckRequest
from placement_worker.errors import CloudUnavailable, Rejected
from placement_worker.formats.text import counted, listed, shortened
from placement_worker.policies.base import State
from placement_worker.policies.places import unknown_names

PLACEMENT = 'placement'
PLANS = (CREATION, DELETION, PLACEMENT)
"""The keys of the action's data that policies share."""


def warnings_of(
    decided: ActionData, new: Collection[str], request: CheckRequest, state: State
) -> list[str]:
    """Return a sentence per possible mistake in what a plugin decided BEFORE an action.

    :param new: the keys of the plans that it changed.
    :param state: that of the policy.
    """
    found = [*_dropped(decided, state), *_unknown_places(decided, new, request, state)]
    if DELETION in new:
        victims = decided.deletion.candidates or ()
        found += _excess_victims(len(victims), request, state)
        found += _contradictions(decided.deletion, request, state)
    return found


def shown_counts(counts: Mapping[Any, int]) -> str:
    """Return the numbers of nodes by place, for a message."""
    return listed(f'{shortened(name)} {counts[name]}' for name in sorted(counts)) or 'none'


def _dropped(decided: ActionData, state: State) -> Iterator[str]:
    """Yield a sentence if the data lack a plan of the policies before."""
    lost = [key for key in PLANS if key in state.data and key not in decided.data]
    if lost:
        yield f'The data lack {listed(lost)} of an earlier policy; begin them with **state.data'


def _contradictions(deletion: Deletion, request: CheckRequest, state: State) -> Iterator[str]:
    """Yield a sentence if more victims are in a zone than the deletion removes there."""
    chosen, planned = {*(deletion.candidates or ())}, deletion.zones
    if not chosen or not planned:
        return
    try:
        counts = state.cloud.zones_of([one for one in request.cluster.nodes if one.id in chosen])
    except CloudUnavailable:  # the policy need not know the cloud
        return
    if any(zone and count > planned.get(zone, 0) for zone, count in counts.items()):
        yield (
            f'The victims are not in the zones of the plan, {shown_counts(planned)}; choose '
            'victims before the placement policies, with a priority below 200'
        )


def _excess_victims(victims: int, request: CheckRequest, state: State) -> Iterator[str]:
    """Yield a sentence if there are more victims than nodes that the action deletes."""
    try:
        size = state.size(request)
    except Rejected:  # the policy did not need the size
        return
    asked = size.count if size.kind == DELETION else 0
    if victims > asked:
        yield (
            f'The plan has {counted(victims, "victim")}, but the action deletes '
            f'{counted(asked, "node")}'
        )


def _unknown_places(
    decided: ActionData, new: Collection[str], request: CheckRequest, state: State
) -> Iterator[str]:
    """Yield a sentence about the regions, and one about the zones, that the cloud does not have.

    A deletion may name a zone that the cloud had once.
    """
    places = Placement.of(decided.data.get(PLACEMENT)).places if PLACEMENT in new else []
    regions = {region: None for region, _ in places if region}
    zones = {zone: None for _, zone in places if zone}
    if CREATION in new:
        regions.update(dict.fromkeys(decided.creation.regions or ()))
        zones.update(dict.fromkeys(decided.creation.zones or ()))
    try:
        if unknown := _missing(regions, known := state.cloud.regions if regions else ()):
            yield unknown_names('region', unknown, known)
        elif zones:
            node = request.action.node
            home = state.cloud.named_region_of(node) if node else request.cluster.profile.region
            known = {zone for region in regions or (home,) for zone in state.cloud.zones(region)}
            if unknown := _missing(zones, known):
                yield unknown_names('availability zone', unknown, known)
    except CloudUnavailable:  # the policy need not know the cloud
        return


def _missing(names: Mapping[str, Any], known: Any) -> list[str]:
    return [name for name in names if name not in known]
