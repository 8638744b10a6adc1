"""The RPC methods of the worker.

The server and the manual's table of methods derive from `METHODS`; callers use its entries.
"""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from placement_worker.contract.model import (
    BindReply,
    BindRequest,
    Capabilities,
    CheckReply,
    CheckRequest,
    PolicyType,
    TypeRequest,
    ValidateReply,
    ValidateRequest,
)

Q = TypeVar('Q')
A = TypeVar('A')


@dataclass(frozen=True, slots=True)
class Method(Generic[Q, A]):
    """A method: its name on the bus, and the types of its request and its reply."""

    name: str
    request: type[Q]
    reply: type[A]


POLICY_CHECK = Method('policy_check', CheckRequest, CheckReply)
POLICY_ATTACH = Method('policy_attach', BindRequest, BindReply)
POLICY_DETACH = Method('policy_detach', BindRequest, BindReply)
POLICY_VALIDATE = Method('policy_validate', ValidateRequest, ValidateReply)
POLICY_TYPE_LIST = Method('policy_type_list', dict[str, Any], list[PolicyType])
POLICY_TYPE_GET = Method('policy_type_get', TypeRequest, PolicyType)
GET_CAPABILITIES = Method('get_capabilities', dict[str, Any], Capabilities)

METHODS: tuple[Method[Any, Any], ...] = (
    POLICY_CHECK,
    POLICY_ATTACH,
    POLICY_DETACH,
    POLICY_VALIDATE,
    POLICY_TYPE_LIST,
    POLICY_TYPE_GET,
    GET_CAPABILITIES,
)
