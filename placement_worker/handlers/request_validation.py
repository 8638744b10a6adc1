"""Rules of requests that their types do not express, and warnings of probable mistakes.

A rule refuses a request that no policy could decide. A warning is for what the contract allows,
because an engine may have its own statuses and inputs, and a policy of a plugin its own keys.
"""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from placement_worker.contract import actions, codec
from placement_worker.contract.action_data import PlacesInData
from placement_worker.contract.inputs import KEYS_BY_ACTION, describe_unknown, unknown_inputs
from placement_worker.contract.model import Action, Binding, CheckRequest, Cluster, Node
from placement_worker.errors import InvalidRequest, UnsupportedAction
from placement_worker.formats.text import did_you_mean, enumerated, listed, nearest, shortened
from placement_worker.handlers.chain import Link, versioned
from placement_worker.planning.victims import FAILING
from placement_worker.policies.base import BEFORE

# The similarity of a suggestion; CLUSTER_GROW and CLUSTER_RECOVER have 0.74.
_SIMILAR_ACTION = 0.8


def validate_check(request: CheckRequest) -> None:
    """Check the action and the cluster of a check.

    :raises UnsupportedAction: Senlin has no such action.
    :raises InvalidRequest: a place in the data of a node or the cluster is malformed, the node of
        the action is missing, the cluster has a node twice, or two policies have one id.
    """
    _check_places(action=request.action, cluster=request.cluster)
    name = request.action.action
    if name not in KEYS_BY_ACTION:
        hint = did_you_mean(shortened(name), sorted(KEYS_BY_ACTION), cutoff=_SIMILAR_ACTION)
        raise UnsupportedAction(
            f'Expected an action of Senlin, got `{shortened(name)}` - at `$.action.action`{hint}'
        )
    if name in actions.OF_A_NODE and request.action.node is None:
        raise InvalidRequest(f'Expected `object` for {name}, got `null` - at `$.action.node`')
    _check_distinct([node.id for node in request.cluster.nodes], 'node', '$.cluster.nodes')
    validate_policies(request.policies)


def validate_cluster(cluster: Cluster) -> None:
    _check_places(cluster=cluster)
    _check_distinct([node.id for node in cluster.nodes], 'node', '$.cluster.nodes')


def validate_policies(bindings: Sequence[Binding]) -> None:
    """Check that each policy has an id of its own, by which decisions and bindings name it."""
    _check_distinct([binding.id for binding in bindings], 'policy', '$.policies')


def _check_places(**parts: Action | Cluster) -> None:
    """Check the places in free-form data before the other rules.

    The command line searches a refused file for malformed places, but for no other rule.
    """
    try:
        codec.convert(parts, PlacesInData, from_attributes=True)
    except msgspec.ValidationError:
        codec.decode(parts, PlacesInData)  # explains the error
        raise


def _check_distinct(ids: Sequence[str], noun: str, path: str) -> None:
    if len(set(ids)) == len(ids):
        return
    seen: set[str] = set()
    for i, id_ in enumerate(ids):
        if id_ in seen:
            raise InvalidRequest(
                f'Expected each {noun} once, got `{shortened(id_)}` again - at `{path}[{i}].id`'
            )
        seen.add(id_)


# The statuses of a node: senlin/common/consts.py of Senlin 16.
KNOWN_STATUSES = (
    'INIT', 'ACTIVE', 'CREATING', 'UPDATING', 'DELETING', 'RECOVERING', 'WARNING', 'ERROR',
    'OPERATING',
)  # fmt: skip
# The similarity of a misspelled status: WARN has 0.727 to WARNING, and WAITING has 0.714.
_SIMILAR_STATUS = 0.72
# The number of different statuses that are compared with those of unhealthy nodes.
_MAX_STATUSES = 20


def request_warnings(
    request: CheckRequest, links: Sequence[Link], declared: Collection[str]
) -> list[str]:
    """Return the sentences about the inputs, the profile type and the statuses of a check.

    :param declared: the keys of inputs that policy types of plugins read.
    """
    action = request.action
    unknown = unknown_inputs(action.action, action.inputs, declared)
    sentences = (
        describe_unknown(action.action, unknown, declared) if unknown else None,
        _ignored_number(request.action) if request.target == BEFORE else None,
        _profile_without_version(request, links),
        misspelled_statuses(request.cluster.nodes),
    )
    return [sentence for sentence in sentences if sentence]


def misspelled_statuses(nodes: Iterable[Node]) -> str | None:
    """Return a sentence about statuses that resemble those of unhealthy nodes, or None.

    An engine may have statuses of its own, so any other status is no mistake.
    """
    given = dict.fromkeys([node.status for node in nodes])
    statuses = [status for status in given if status and status not in KNOWN_STATUSES]
    hints = [
        f'{status} (did you mean {near}?)'
        for status in map(shortened, statuses[:_MAX_STATUSES])
        if (near := meant_status(status))
    ]
    return f'Nodes count as healthy whose status is {listed(hints)}' if hints else None


def meant_status(status: str) -> str | None:
    return nearest(status.upper(), FAILING, _SIMILAR_STATUS)


def _ignored_number(action: Action) -> str | None:
    inputs = action.inputs
    is_sized = inputs.get('adjustment_type') is not None or inputs.get('number') is None
    if action.action != actions.CLUSTER_RESIZE or is_sized:
        return None
    return 'The resize ignores `inputs.number`, because `inputs.adjustment_type` is missing'


def _profile_without_version(request: CheckRequest, links: Sequence[Link]) -> str | None:
    profile_type = request.cluster.profile.type
    handled = (request.target, request.action.action)
    skipped = [link for link in links if link.skip_reason and handled in link.policy.targets]
    meant = {link.name: versioned(link.policy, profile_type) for link in skipped}
    names = [name for name, with_version in meant.items() if with_version]
    if not names:
        return None
    return (
        f'Profile type {shortened(profile_type)} has no version (did you mean '
        f'{meant[names[0]]}?): policy {enumerated(names)} was skipped'
    )
