"""Encode the reply to a check; an error names the policy whose values JSON cannot hold."""

from collections.abc import Iterator
from typing import Any

import msgspec

from placement_worker.contract import codec
from placement_worker.contract.model import CheckReply
from placement_worker.policies import plugins
from placement_worker.policies.registry import Registry


def encode(reply: CheckReply, like: object, registry: Registry) -> Any:
    """Encode a reply in the form of its request, as `codec.encode`.

    A reply is searched for the policy only after its encoding has failed, so that valid replies
    cost nothing.
    """
    try:
        return codec.encode(reply, like=like)
    except codec.NOT_PLAIN as exc:
        exc.add_note(_origin(reply, registry))
        raise


def _origin(reply: CheckReply, registry: Registry) -> str:
    """Return the policy whose details are not plain data, or else the plugins that decided.

    The data and the patches in a reply are those of all policies. The policies of this package
    return plain data.
    """
    for decision in reply.decisions:
        if not _is_plain(decision.details):
            return f'in the details of {_named(decision.policy_type, registry)}'
    decided = ' or '.join(_plugins(reply, registry)) or 'a policy'
    return f'in the data or the patches of {decided}'


def _plugins(reply: CheckReply, registry: Registry) -> Iterator[str]:
    for decision in reply.decisions:
        is_own = plugins.is_built_in(registry.types[decision.policy_type])
        if decision.outcome != 'SKIPPED' and not is_own:
            yield _named(decision.policy_type, registry)


def _named(type_name: str, registry: Registry) -> str:
    return f'{type_name}, a plugin of {registry.types[type_name].__module__}'


def _is_plain(value: object) -> bool:
    try:
        msgspec.json.encode(value)
    except codec.NOT_PLAIN:
        return False
    return True
