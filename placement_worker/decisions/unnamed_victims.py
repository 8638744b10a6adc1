"""The nodes that an action deletes without a policy that chooses them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from placement_worker.cloud.snapshot import Location
from placement_worker.contract import actions
from placement_worker.contract.action_data import DELETION, ActionData, Deletion

COUNTED = frozenset({actions.CLUSTER_SCALE_IN, actions.CLUSTER_RESIZE})
"""The actions whose victims the engine chooses if no policy does; the others name them."""


def by_place(action: str, data: Mapping[str, Any]) -> Counter[Location]:
    """Return the number of nodes that the engine chooses as victims, by region and zone.

    :param data: the data of the action in the reply.
    :raises InvalidInput: the data are none of a decision.
    """
    if action not in COUNTED or DELETION not in data:
        return Counter()
    deletion = ActionData(data).deletion
    if deletion.candidates is not None:
        return Counter()
    planned = _planned(deletion)
    planned[None, None] += deletion.count - planned.total()
    return +planned


def _planned(deletion: Deletion) -> Counter[Location]:
    if deletion.places is not None:
        return Counter({(one.region, one.zone): one.nodes for one in deletion.places})
    if deletion.zones:
        return Counter({(None, zone): count for zone, count in deletion.zones.items()})
    return Counter({(region, None): count for region, count in (deletion.regions or {}).items()})
