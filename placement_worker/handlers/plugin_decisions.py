"""Check what a plugin decides: plans that contradict each other, and unknown nodes and places."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from placement_worker.contract import values
from placement_worker.contract.action_data import (
    CREATION,
    DELETION,
    PATH,
    ActionData,
    Change,
    Deletion,
    Kind,
    wrong_total,
)
from placement_worker.contract.model import CheckRequest
from placement_worker.contract.placement_data import Placement
from placement_worker.errors import CloudUnavailable, InvalidInput, Rejected, SizeOutOfBounds
from placement_worker.formats.text import counted, listed, shortened
from placement_worker.planning import sizing
from placement_worker.policies import place_names, plugins
from placement_worker.policies.base import BEFORE, Outcome, Policy, State

KINDS: tuple[Kind, ...] = (CREATION, DELETION)
PLACEMENT = 'placement'


def check(policy: Policy[Any], outcome: Outcome, request: CheckRequest, state: State) -> list[str]:
    """Return warnings of what may be a mistake in the decision of a plugin.

    :param state: that of the policy, which is not to blame for values that it kept.
    :raises InvalidInput: the decision cannot be right; the text names the policy and the path.
    """
    origin = plugins.origin(policy.type_name, type(policy))
    decided = ActionData(state.data if outcome.data is None else outcome.data)
    new = {
        key for key in (*KINDS, PLACEMENT) if decided.data.get(key, {}) != state.data.get(key, {})
    }
    try:
        for kind in KINDS:
            if kind in new:
                decided.change(kind).check()
                _check_plan(decided.change(kind))
        if PLACEMENT in new:
            _check_placement(decided)
        if request.target == BEFORE:
            _check_before(decided, new, request, state.max_nodes)
        victims = decided.deletion.candidates or () if DELETION in new else ()
        _check_nodes(victims, outcome.nodes, request, state)
    except InvalidInput as exc:
        raise InvalidInput(f'{origin.removeprefix("in ")}, wrote invalid data: {exc}') from exc
    if request.target != BEFORE:
        return []
    found = [*_dropped(decided, state), *_unknown_places(decided, new, request, state)]
    if DELETION in new:
        found += _excess_victims(len(victims), request, state)
        found += _contradictions(decided.deletion, request, state)
    return [f'{warning} ({origin})' for warning in found]


def _check_plan(change: Change) -> None:
    """Check that a plan by place has no more nodes than its count.

    :raises InvalidInput: it has more, or a creation has fewer by region.
    """
    count = change.count
    change.regions_of(count)
    totals = {'zones': sum((change.zones or {}).values())}
    if isinstance(change, Deletion):
        totals['places'] = sum(place.nodes for place in change.places or ())
    for key, total in totals.items():
        if total > count:
            raise wrong_total(f'at most {counted(count, "node")}', total, f'{change.path}.{key}')


def _check_placement(decided: ActionData) -> None:
    """Check that the entries are as many as the placement and the creation say.

    :raises InvalidInput: they are not.
    """
    placement = decided.data.get(PLACEMENT)
    if not isinstance(placement, dict) or not isinstance(placement.get('placements'), list):
        return
    expected = {len(placement['placements'])}
    if 'count' in placement:
        expected.add(values.natural(placement['count'], f'{PATH}.placement.count'))
    if CREATION in decided.data:
        expected.add(decided.creation.count)
    if len(expected) > 1:
        raise InvalidInput(
            f'Expected equal numbers of nodes and placements, got '
            f'{listed(sorted(expected))} - at `{PATH}.placement`'
        )


def _check_before(
    decided: ActionData, new: set[str], request: CheckRequest, max_nodes: int
) -> None:
    """Check a plan that the engine is about to carry out.

    :raises InvalidInput: the counts by place are not those of the entries, there are more victims
        than nodes to delete, or the cluster grows too large.
    """
    if new & {CREATION, PLACEMENT} and CREATION in decided.data:
        _check_entries(decided)
    if CREATION in new:
        try:
            sizing.size_of(request.action, decided, request.cluster, max_nodes)
        except SizeOutOfBounds as exc:
            raise InvalidInput(f'{str(exc).rstrip(".")} - at `{PATH}.creation.count`') from exc
        except Rejected:  # an input that the plugin replaces need not be valid
            pass
    if DELETION in new and 'count' in decided.data.get(DELETION, {}):
        deletion = decided.deletion
        if len(deletion.candidates or ()) > deletion.count:
            raise InvalidInput(
                f'Expected at most {counted(deletion.count, "victim")}, got '
                f'{len(deletion.candidates or ())} - at `{deletion.path}.candidates`'
            )


def _check_entries(decided: ActionData) -> None:
    """Check that the counts of a creation by place are those of the entries.

    :raises InvalidInput: they are not.
    """
    creation, places = decided.creation, Placement.of(decided.data.get(PLACEMENT)).places
    plans = (('regions', creation.regions), ('zones', creation.zones))
    for part, (key, planned) in enumerate(plans if places else ()):
        named = Counter(place[part] for place in places if place[part])
        counts = {name: count for name, count in (planned or {}).items() if count}
        if counts and counts != named:
            raise InvalidInput(
                f'Expected the counts of the placements, {_shown(named)}, got {_shown(counts)} - '
                f'at `{creation.path}.{key}`'
            )


def _shown(counts: Mapping[Any, int]) -> str:
    return listed(f'{shortened(name)} {counts[name]}' for name in sorted(counts)) or 'none'


def _check_nodes(
    victims: Sequence[str], patched: Collection[str], request: CheckRequest, state: State
) -> None:
    """Check that the request names the victims and the nodes of patches.

    :raises InvalidInput: it does not.
    """
    if not victims and not patched:
        return
    named = {node.id for node in request.cluster.nodes} | {*_other_nodes(request, state)}
    for ids, path in ((victims, f'{PATH}.deletion.candidates'), (patched, '$.nodes')):
        unknown = [one for one in ids if one not in named]
        if unknown:
            raise InvalidInput(
                f'Not a member of cluster {shortened(request.cluster.id)}: '
                f'{listed(unknown, shortened)} - at `{path}`'
            )


def _other_nodes(request: CheckRequest, state: State) -> Iterator[str]:
    """Yield the nodes that the action, its inputs or earlier policies name.

    After an action, its victims are no longer members.
    """
    if request.action.node:
        yield request.action.node.id
    lists = [request.action.inputs.get(key) for key in ('candidates', 'nodes')]
    for kind, key in ((CREATION, 'nodes'), (DELETION, 'candidates')):
        change = state.data.get(kind)
        lists.append(change.get(key) if isinstance(change, Mapping) else None)
    for one in lists:
        if isinstance(one, (list, dict)):
            yield from (node_id for node_id in one if isinstance(node_id, str))
        if isinstance(one, dict):  # of the replaced nodes, with the new ones
            yield from (node_id for node_id in one.values() if isinstance(node_id, str))
    yield from state.nodes


def _dropped(decided: ActionData, state: State) -> Iterator[str]:
    """Yield a sentence if the data lack a plan of the policies before."""
    lost = [key for key in (*KINDS, PLACEMENT) if key in state.data and key not in decided.data]
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
            f'The victims are not in the zones of the plan, {_shown(planned)}; choose victims '
            'before the placement policies, with a priority below 200'
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
    decided: ActionData, new: set[str], request: CheckRequest, state: State
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
            yield place_names.unknown('region', unknown, known)
        elif zones:
            node = request.action.node
            home = state.cloud.named_region_of(node) if node else request.cluster.profile.region
            known = {zone for region in regions or (home,) for zone in state.cloud.zones(region)}
            if unknown := _missing(zones, known):
                yield place_names.unknown('availability zone', unknown, known)
    except CloudUnavailable:  # the policy need not know the cloud
        return


def _missing(names: Mapping[str, Any], known: Any) -> list[str]:
    return [name for name in names if name not in known]
