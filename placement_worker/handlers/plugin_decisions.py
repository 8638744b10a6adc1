"""Check what a plugin decides: plans that contradict each other, and unknown nodes."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from placement_worker.contract import values
from placement_worker.contract.action_data import (
    CREATION,
    DELETION,
    PATH,
    ActionData,
    Change,
    Deletion,
    Kind,
    Placement,
    wrong_total,
)
from placement_worker.contract.model import CheckRequest, ClusterPatch, NodePatch
from placement_worker.errors import InvalidInput, Rejected, SizeOutOfBounds
from placement_worker.formats.text import counted, listed, shortened
from placement_worker.handlers import plugin_outcomes
from placement_worker.handlers.plugin_warnings import PLACEMENT, PLANS, shown_counts, warnings_of
from placement_worker.planning import sizing
from placement_worker.policies import plugin_packages
from placement_worker.policies.base import BEFORE, Outcome, Policy, State

KINDS: tuple[Kind, ...] = (CREATION, DELETION)
Patch = TypeVar('Patch', NodePatch, ClusterPatch)


def copied(state: State) -> State:
    """Return a state in which a plugin cannot change the data and the patches of the original."""
    return replace(
        state,
        action_data=ActionData(msgspec.to_builtins(state.data)),
        nodes={node_id: _copied(patch) for node_id, patch in state.nodes.items()},
        cluster=state.cluster and _copied(state.cluster),
    )


def checked(
    policy: Policy[Any], outcome: Outcome, request: CheckRequest, received: State, state: State
) -> Outcome:
    """Return the outcome of a plugin with its changes in place, and with warnings of mistakes.

    :param received: the state that the policy received, and possibly changed.
    :param state: that before the policy, which is not to blame for values that it kept.
    :raises TypeError: as `plugin_outcomes.check_values`.
    :raises InvalidInput: the decision cannot be right; the text names the policy and the path.
    """
    plugin_outcomes.check_values(outcome)
    outcome = _with_changes_in_place(outcome, received, state)
    origin = plugin_packages.origin(policy.type_name, type(policy))
    decided = ActionData(state.data if outcome.data is None else outcome.data)
    new = {key for key in PLANS if decided.data.get(key, {}) != state.data.get(key, {})}
    try:
        _check_status(decided.data)
        for kind in KINDS:
            if kind in new:
                decided.change(kind).check()
                _check_plan(decided.change(kind))
        if PLACEMENT in new:
            placement = values.mapping(decided.data.get(PLACEMENT, {}), f'{PATH}.{PLACEMENT}')
            Placement(placement).check(f'{PATH}.{PLACEMENT}')
        if PLACEMENT in new or (CREATION in new and _is_placed(decided, request)):
            _check_numbers(decided)
        if request.target == BEFORE:
            _check_before(decided, new, request, state.max_nodes)
        victims = decided.deletion.candidates or () if DELETION in new else ()
        _check_nodes(victims, sorted(outcome.nodes.keys() - state.nodes), request, state)
    except InvalidInput as exc:
        raise InvalidInput(f'{origin.removeprefix("in ")}, wrote invalid data: {exc}') from exc
    found = warnings_of(decided, new, request, state) if request.target == BEFORE else []
    warnings = [*outcome.warnings, *(f'{warning} ({origin})' for warning in found)]
    return replace(outcome, warnings=warnings)


def _copied(patch: Patch) -> Patch:
    return structs.replace(patch, data=msgspec.to_builtins(patch.data))


def _with_changes_in_place(outcome: Outcome, received: State, state: State) -> Outcome:
    """Return the outcome of a plugin with its changes of the state that it received.

    :raises TypeError: as `plugin_outcomes.check_values`. Values that the plugin kept are not
        checked: they are not its error.
    """
    data, cluster = outcome.data, outcome.cluster
    if data is None and received.data != state.data:
        data = received.data
    if cluster is None and received.cluster != state.cluster:
        cluster = received.cluster
    found = received.nodes.items()
    changed = {node_id: patch for node_id, patch in found if patch != state.nodes.get(node_id)}
    if data is not outcome.data or cluster is not outcome.cluster or changed.keys() - outcome.nodes:
        outcome = replace(outcome, data=data, nodes={**changed, **outcome.nodes}, cluster=cluster)
        plugin_outcomes.check_values(outcome)
    return outcome


def _check_status(data: Mapping[str, Any]) -> None:
    """Check that the reply can have the status and the reason in the data.

    :raises InvalidInput: the status is that of a rejection, which would become OK, or the reason is
        no string.
    """
    status, reason = data.get('status', 'OK'), data.get('reason', '')
    if status != 'OK':
        raise InvalidInput(
            f'Expected `"OK"`, got {values.shown(status)}; to reject an action, raise Rejected - '
            f'at `{PATH}.status`'
        )
    if not isinstance(reason, str):
        raise InvalidInput(f'Expected `str`, got {values.shown(reason)} - at `{PATH}.reason`')


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


def _is_placed(decided: ActionData, request: CheckRequest) -> bool:
    """Return whether a policy of this check placed the nodes, and not an earlier check."""
    return bool(decided.data.get(PLACEMENT) != request.action.data.get(PLACEMENT))


def _check_numbers(decided: ActionData) -> None:
    """Check that the entries are as many as the placement and the creation say.

    :raises InvalidInput: they are not.
    """
    placement = values.mapping_or_empty(decided.data.get(PLACEMENT))
    if not isinstance(placement.get('placements'), list):
        return
    entries = len(placement['placements'])
    counts = {f'{entries} in placement.placements': entries}
    if isinstance(placement.get('count'), int):
        counts[f'{placement["count"]} in placement.count'] = placement['count']
    if CREATION in decided.data:
        count = decided.creation.count
        counts[f'{count} in creation.count'] = count
    if len({*counts.values()}) > 1:
        raise InvalidInput(
            f'Expected equal numbers of nodes, got {listed(counts)} - at `{PATH}.placement`'
        )


def _check_before(
    decided: ActionData, new: set[str], request: CheckRequest, max_nodes: int
) -> None:
    """Check a plan that the engine is about to carry out.

    :raises InvalidInput: the counts by place are not those of the entries, or the cluster grows too
        large.
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
                f'Expected the counts of the placements, {shown_counts(named)}, got '
                f'{shown_counts(counts)} - at `{creation.path}.{key}`'
            )


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
