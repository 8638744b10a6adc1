"""Check the rules of requests that their types do not express."""

import difflib
from collections.abc import Sequence

import msgspec

from placement_worker.contract import actions, codec
from placement_worker.contract.action_data import PlacesInData
from placement_worker.contract.model import Action, Binding, CheckRequest, Cluster
from placement_worker.errors import InvalidRequest, UnsupportedAction
from placement_worker.formats.text import shortened

SIMILAR = 0.8
"""The similarity of a suggestion; CLUSTER_GROW and CLUSTER_RECOVER have 0.74."""


def validate_check(request: CheckRequest) -> None:
    """Check the action and the cluster of a check.

    :raises UnsupportedAction: Senlin has no such action.
    :raises InvalidRequest: a place in the data of a node or the cluster is malformed, the node of
        the action is missing, the cluster has a node twice, or two policies have one id.
    """
    _check_places(action=request.action, cluster=request.cluster)
    name = request.action.action
    if name not in actions.ALL:
        near = difflib.get_close_matches(shortened(name), sorted(actions.ALL), n=1, cutoff=SIMILAR)
        hint = f' (did you mean `{near[0]}`?)' if near else ''
        raise UnsupportedAction(
            f'Expected an action of Senlin, got `{shortened(name)}` - at `$.action.action`{hint}'
        )
    if name in actions.OF_A_NODE and request.action.node is None:
        raise InvalidRequest(f'Expected `object` for {name}, got `null` - at `$.action.node`')
    _check_distinct([node.id for node in request.cluster.nodes], 'node', '$.cluster.nodes')
    validate_policies(request.policies)


def validate_cluster(cluster: Cluster) -> None:
    """Check that a cluster has each node once, and well-formed places in its data.

    :raises InvalidRequest: it has a node twice, or a place is malformed; the text names the first.
    """
    _check_places(cluster=cluster)
    _check_distinct([node.id for node in cluster.nodes], 'node', '$.cluster.nodes')


def validate_policies(bindings: Sequence[Binding]) -> None:
    """Check that each policy has an id of its own, by which decisions and bindings name it.

    :raises InvalidRequest: an id is repeated; the text names the first.
    """
    _check_distinct([binding.id for binding in bindings], 'policy', '$.policies')


def _check_places(**parts: Action | Cluster) -> None:
    """Check the places in free-form data before the other rules.

    The command line searches a refused file for malformed places, but for no other rule.
    """
    try:
        msgspec.convert(parts, PlacesInData, from_attributes=True)
    except msgspec.ValidationError:
        codec.decode(parts, PlacesInData)  # explains the error
        raise


def _check_distinct(ids: Sequence[str], what: str, path: str) -> None:
    if len(set(ids)) == len(ids):
        return
    seen: set[str] = set()
    for i, one in enumerate(ids):
        if one in seen:
            raise InvalidRequest(
                f'Expected each {what} once, got `{shortened(one)}` again - at `{path}[{i}].id`'
            )
        seen.add(one)
