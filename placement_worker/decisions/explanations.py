"""The content of replies to checks for operators: the reason of each victim, the rows of plans.

Replies may come from an edited decision log. Rows that no decision has are left out, and data that
no decision has raise InvalidInput and nothing else.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from placement_worker.contract import action_data, actions
from placement_worker.contract.action_data import CREATION, DELETION, ActionData, Location
from placement_worker.contract.model import Action, CheckReply, CheckRequest, Decision
from placement_worker.formats.text import shortened
from placement_worker.policies.deletion import Deletion
from placement_worker.policies.region_placement import RegionPlacement
from placement_worker.policies.victim_selection import KEPT, NAMED
from placement_worker.policies.zone_placement import ZonePlacement

PLANS = ('regions', 'zones')  # details of a decision that hold the rows of a plan
_PLACEMENT_TYPES = (RegionPlacement.name, ZonePlacement.name)
# The actions whose victims the engine chooses if no policy does; the others name them.
_COUNTED = frozenset({actions.CLUSTER_SCALE_IN, actions.CLUSTER_RESIZE})


def reason_of_choice(
    node_id: str, request: CheckRequest, reply: CheckReply, given: str = ''
) -> str:
    """Return the reason to delete a node, or ''.

    :param given: the reason of the deletion policy; it counts if that policy chose the node.
    """
    if given not in ('', KEPT):
        return given
    if node_id in _named_by_action(request.action):
        return NAMED
    is_stated = action_data.stated_candidates(request.action.data) is not None
    chooser = None if is_stated else _only_chooser(reply.decisions)
    if chooser is None:
        return given
    return f'chosen by {chooser.policy_name or chooser.policy_id}: {shortened(chooser.reason)}'


def _named_by_action(action: Action) -> Sequence[str]:
    if action.action == actions.NODE_DELETE and action.node:
        return [action.node.id]
    return action.candidate_inputs.candidates or ()


def _only_chooser(decisions: Sequence[Decision]) -> Decision | None:
    """Return the decision of the only policy that could choose victims before deletion, or None.

    A decision does not say what it wrote, so that of one of several policies is unknown.
    """
    choosers: list[Decision] = []
    for decision in decisions:
        name = decision.policy_type.rpartition('-')[0]
        if decision.outcome == 'APPLIED' and name == Deletion.name:
            break
        if decision.outcome == 'APPLIED' and name not in _PLACEMENT_TYPES:
            choosers.append(decision)
    return choosers[0] if len(choosers) == 1 else None


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
    if isinstance(change, action_data.Deletion) and change.places is not None:
        return Counter({(place.region, place.zone): place.nodes for place in change.places})
    if change.zones:
        return Counter({(None, zone): count for zone, count in change.zones.items()})
    return Counter({(region, None): count for region, count in (change.regions or {}).items()})


def final_plan_rows(reply: CheckReply) -> list[dict[str, Any]]:
    """Return the rows of all plans, or the counts that a later policy has put in their place."""
    changes = ActionData(reply.action.data).decided((CREATION, DELETION))
    rows: list[dict[str, Any]] = []
    for plan in PLANS:
        planned = [
            row
            for decision in reply.decisions
            for row in rows_with('name', decision.details.get(plan))
        ]
        counts = getattr(changes[0], plan) if len(changes) == 1 else None
        by_name = {
            row['name']: row['planned']
            for row in planned
            if row.get('planned') and row['name'] != '-'  # no place, or a region without zones
        }
        # Zones of several regions may have the same name, which the counts do not tell apart.
        is_unique = len({row['name'] for row in planned}) == len(planned)
        if planned and counts is not None and is_unique and +Counter(counts) != by_name:
            planned = [
                {'name': name, 'planned': counts[name], 'note': 'of a later policy'}
                for name in sorted(counts)
            ]
        rows += planned
    return rows


def rows_with(key: str, listed: object) -> Iterator[dict[str, Any]]:
    """Yield the rows of a list whose key is a string, whatever else an edited record holds."""
    for row in listed if isinstance(listed, list) else ():
        if isinstance(row, dict) and isinstance(row.get(key), str):
            yield row
