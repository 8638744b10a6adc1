"""The content of replies to checks for operators: the reason of each victim, the rows of plans.

Replies may come from an edited decision log. Rows that no decision has are left out, and data that
no decision has raise InvalidInput and nothing else.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from placement_worker.cloud.snapshot import Location
from placement_worker.contract import action_data, actions
from placement_worker.contract.action_data import CREATION, DELETION, ActionData
from placement_worker.contract.model import Action, CheckReply, CheckRequest, Decision
from placement_worker.formats.text import shortened
from placement_worker.policies.deletion import Deletion
from placement_worker.policies.load_balancing.policy import LoadBalancing
from placement_worker.policies.region_placement import RegionPlacement
from placement_worker.policies.zone_placement import ZonePlacement

PLANS = ('regions', 'zones')  # details of a decision that hold the rows of a plan
# The policy types of this package; a plugin cannot replace them.
_OWN_TYPES = frozenset(
    {Deletion.name, LoadBalancing.name, RegionPlacement.name, ZonePlacement.name}
)
# The actions whose victims the engine chooses if no policy does; the others name them.
_COUNTED = frozenset({actions.CLUSTER_SCALE_IN, actions.CLUSTER_RESIZE})


def reason_of_choice(node_id: str, request: CheckRequest, reply: CheckReply) -> str:
    """Return the reason to delete a node that the deletion policy did not choose, or ''."""
    if node_id in _named_by_action(request.action):
        return 'named by the action'
    if stated_candidates(request.action.data) is not None:
        return ''
    if plugin := _plugin(reply.decisions):
        return f'chosen by {plugin.policy_name or plugin.policy_id}: {shortened(plugin.reason)}'
    return 'chosen by load balancing' if _is_by_load_balancing(reply.decisions) else ''


def stated_candidates(data: Mapping[str, Any]) -> Any:
    """Return the list of victims in the data of an action, valid or not, or None."""
    decided = data.get(DELETION)
    return decided.get('candidates') if isinstance(decided, dict) else None


def _named_by_action(action: Action) -> Sequence[str]:
    if action.action == actions.NODE_DELETE and action.node:
        return [action.node.id]
    return action.candidate_inputs.candidates or ()


def _plugin(decisions: Sequence[Decision]) -> Decision | None:
    """Return the decision of the only plugin that could choose victims, or None.

    A decision does not say what it wrote, so that of one of several plugins is unknown.
    """
    plugins: list[Decision] = []
    for decision in decisions:
        if decision.outcome != 'APPLIED':
            continue
        name = decision.policy_type.rpartition('-')[0]
        if name == Deletion.name:
            break
        if name not in _OWN_TYPES:
            plugins.append(decision)
    return plugins[0] if len(plugins) == 1 else None


def _is_by_load_balancing(decisions: Sequence[Decision]) -> bool:
    """Return whether load balancing was the first policy that could choose nodes."""
    choosers = (
        decision.policy_type
        for decision in decisions
        if decision.outcome == 'APPLIED' and not set(PLANS) & decision.details.keys()
    )
    return next(choosers, '').startswith(f'{LoadBalancing.name}-')


def unnamed_victims(action: str, data: Mapping[str, Any]) -> Counter[Location]:
    """Return the number of nodes that the engine chooses as victims, by region and zone.

    :param data: the data of the action in the reply.
    """
    if action not in _COUNTED or DELETION not in data:
        return Counter()
    deletion = ActionData(data).deletion
    if deletion.candidates is not None:
        return Counter()
    planned = planned_by_place(deletion)
    planned[None, None] += deletion.count - planned.total()
    return +planned


def planned_by_place(change: action_data.Change) -> Counter[Location]:
    """Return the number of nodes that the policies planned to create or delete."""
    if isinstance(change, action_data.Deletion) and change.places is not None:
        return Counter({(place.region, place.zone): place.nodes for place in change.places})
    if change.zones:
        return Counter({(None, zone): count for zone, count in change.zones.items()})
    return Counter({(region, None): count for region, count in (change.regions or {}).items()})


def final_plan_rows(reply: CheckReply) -> list[dict[str, Any]]:
    """Return the rows of all plans; those that a later policy replaced have a note."""
    rows: list[dict[str, Any]] = []
    for plan in PLANS:
        planned = [
            row
            for decision in reply.decisions
            for row in rows_with('name', decision.details.get(plan))
        ]
        rows += _corrected(planned, reply, plan) if planned else ()
    return rows


def _corrected(
    planned: list[dict[str, Any]], reply: CheckReply, plan: str
) -> Iterator[dict[str, Any]]:
    """Yield the rows with the counts of the reply, and rows of the places that it adds.

    The rows stay as they are if the reply has no counts by these places, or if zones of several
    regions have the same name.
    """
    changes = ActionData(reply.action.data).decided((CREATION, DELETION))
    counts = getattr(changes[0], plan) if len(changes) == 1 else None
    names = [row['name'] for row in planned]
    if counts is None or len(set(names)) < len(names):
        yield from planned
        return
    sign = 1 if changes[0].kind == CREATION else -1
    for row in planned:
        yield _with_count(row, counts.get(row['name'], 0), sign)
    for name in sorted(counts.keys() - set(names)):
        yield {'name': name, 'planned': counts[name], 'note': 'of a later policy'}


def _with_count(row: Mapping[str, Any], count: int, sign: int) -> dict[str, Any]:
    was, current = row.get('planned'), row.get('current')
    if was == count or not isinstance(was, int) or not isinstance(current, int):
        return dict(row)
    note = ', '.join(filter(None, (str(row.get('note') or ''), f'{was} before a later policy')))
    return {**row, 'planned': count, 'final': current + sign * count, 'note': note}


def rows_with(key: str, listed: object) -> Iterator[dict[str, Any]]:
    """Yield the rows of a list whose key is a string, whatever else an edited record holds."""
    for row in listed if isinstance(listed, list) else ():
        if isinstance(row, dict) and isinstance(row.get(key), str):
            yield row
