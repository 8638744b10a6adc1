"""Warnings about values of a check that the contract allows, but that are probably mistakes."""

import difflib
import itertools
from collections.abc import Collection, Iterable, Sequence

from placement_worker.contract import actions
from placement_worker.contract.inputs import describe_unknown, unknown_inputs
from placement_worker.contract.model import Action, CheckRequest, Node
from placement_worker.formats.text import enumerated, listed, shortened
from placement_worker.handlers.chain_links import Link, versioned
from placement_worker.planning.victims import FAILING
from placement_worker.policies.base import BEFORE

KNOWN_STATUSES = (
    'INIT',
    'ACTIVE',
    'CREATING',
    'UPDATING',
    'DELETING',
    'RECOVERING',
    'WARNING',
    'ERROR',
    'OPERATING',
)
"""The statuses of a node: senlin/common/consts.py of Senlin 16."""
SIMILAR = 0.72
"""The similarity of a misspelled status: WARN has 0.727 to WARNING, and WAITING has 0.714."""
MAX_STATUSES = 20
"""The number of different statuses that are compared with those of unhealthy nodes."""


def warnings_of(
    request: CheckRequest,
    exceptional: Iterable[Node],
    links: Sequence[Link],
    declared: Collection[str],
) -> list[str]:
    """Return the sentences about the inputs, the profile type and the statuses of a check.

    :param exceptional: the nodes that may have a misspelled status.
    :param declared: the keys of inputs that policy types of plugins read.
    """
    action = request.action
    unknown = unknown_inputs(action.action, action.inputs, declared)
    found = (
        describe_unknown(action.action, unknown, declared) if unknown else None,
        _ignored_number(request.action) if request.target == BEFORE else None,
        _profile_without_version(request, links),
        misspelled_statuses(exceptional),
    )
    return [sentence for sentence in found if sentence]


def misspelled_statuses(nodes: Iterable[Node]) -> str | None:
    """Return a sentence about statuses that resemble those of unhealthy nodes, or None.

    An engine may have statuses of its own, so any other status is no mistake.
    """
    given = (node.status for node in nodes)
    statuses = dict.fromkeys(one for one in given if one and one not in KNOWN_STATUSES)
    found = [
        f'{shown} (did you mean {near}?)'
        for shown in map(shortened, itertools.islice(statuses, MAX_STATUSES))
        if (near := meant_status(shown))
    ]
    return f'Nodes count as healthy whose status is {listed(found)}' if found else None


def meant_status(status: str) -> str | None:
    """Return the status of unhealthy nodes that another status resembles, or None."""
    near = difflib.get_close_matches(status.upper(), FAILING, 1, SIMILAR)
    return near[0] if near else None


def _ignored_number(action: Action) -> str | None:
    inputs = action.inputs
    is_sized = inputs.get('adjustment_type') is not None or inputs.get('number') is None
    if action.action != actions.CLUSTER_RESIZE or is_sized:
        return None
    return 'The resize ignores `inputs.number`, because `inputs.adjustment_type` is missing'


def _profile_without_version(request: CheckRequest, links: Sequence[Link]) -> str | None:
    """Return a sentence about policies that a profile type without its version skips, or None."""
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
