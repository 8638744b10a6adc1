"""Decode requests from the documents of files."""

from collections.abc import Collection
from typing import TypeVar

from msgspec import structs

from placement_worker import errors
from placement_worker.contract import codec, document_kinds, inputs
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import CheckRequest, PolicyType

T = TypeVar('T')


def request_of(document: object, kind: type[T]) -> T:
    """Return a document as a request; an unknown key is an error because it may be a typo.

    :raises InvalidRequest: the document is of another kind, or does not fit the contract.
    """
    document_kinds.check(document, kind, 'Expected only keys of the contract')
    return codec.decode(document, kind)


def check_request_of(caller: Caller, document: object, explain: str | None) -> CheckRequest:
    """Return a document as a check request without unknown inputs.

    :param caller: the worker whose policy types declare inputs that Senlin does not define.
    :param explain: the level of detail; None for that of the request.
    :raises InvalidRequest: the document does not fit the contract, or has unknown inputs.
    """
    return completed(caller, request_of(document, CheckRequest), explain)


def completed(caller: Caller, request: CheckRequest, explain: str | None) -> CheckRequest:
    """Return a check request with a level of detail; parameters are those of `check_request_of`.

    :raises InvalidRequest: the request has unknown inputs.
    """
    if inputs.unknown_inputs(request.action.action, request.action.inputs):
        _check_inputs(request, caller.policy_type_list())
    return structs.replace(request, explain=explain) if explain else request


def _check_inputs(request: CheckRequest, types: Collection[PolicyType]) -> None:
    """Check that each input is known to Senlin or to a policy type.

    A policy type that is not installed may read the input. The worker refuses the type then.

    :raises InvalidRequest: the request has unknown inputs.
    """
    installed = {one.name for one in types}
    enabled = {binding.spec.type_name for binding in request.policies if binding.enabled}
    declared = {key for one in types for key in one.inputs}
    unknown = inputs.unknown_inputs(request.action.action, request.action.inputs, declared)
    if unknown and enabled <= installed:
        described = inputs.describe_unknown(request.action.action, unknown, declared)
        raise errors.InvalidRequest(f'{described} - at `$.action.inputs`')
