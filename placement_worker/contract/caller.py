"""The caller's side of the contract, whichever way the worker is reached."""

import datetime
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from placement_worker.contract import codec
from placement_worker.contract.decoders import decoder
from placement_worker.contract.model import (
    BindReply,
    BindRequest,
    Capabilities,
    CheckReply,
    CheckRequest,
    PolicyType,
    Spec,
    TypeRequest,
    ValidateReply,
    ValidateRequest,
)

T = TypeVar('T')
R = TypeVar('R', CheckRequest, BindRequest)
Context = Mapping[str, Any]


class Caller(ABC):
    """The methods of the contract. Each may raise `Refused`, and `NoWorkerAnswered` if the worker
    is elsewhere.

    Requests may be objects of `model` or plain data; of plain data, keys that the contract does not
    list are left out before anything is sent. `context` is the caller's, as a dict; only ids are
    sent of it.
    """

    def policy_check(
        self, request: CheckRequest | Mapping[str, Any], context: Context | None = None
    ) -> CheckReply:
        """Have one check decided."""
        return self._call(
            'policy_check', self._prepared(request, CheckRequest), CheckReply, context
        )

    def policy_attach(
        self, request: BindRequest | Mapping[str, Any], context: Context | None = None
    ) -> BindReply:
        """Have a policy attached to a cluster."""
        return self._call('policy_attach', self._prepared(request, BindRequest), BindReply, context)

    def policy_detach(
        self, request: BindRequest | Mapping[str, Any], context: Context | None = None
    ) -> BindReply:
        """Have a policy detached from a cluster."""
        return self._call('policy_detach', self._prepared(request, BindRequest), BindReply, context)

    def policy_validate(
        self,
        spec: Spec | Mapping[str, Any],
        check_resources: bool = False,
        context: Context | None = None,
    ) -> Spec:
        """Have a policy's spec checked, and its defaults filled in."""
        asked = ValidateRequest(codec.decode(spec, Spec), check_resources)
        return self._call('policy_validate', asked, ValidateReply, context).spec

    def policy_type_list(self, context: Context | None = None) -> list[PolicyType]:
        """The policy types that the worker has."""
        return self._call('policy_type_list', {}, list[PolicyType], context)

    def policy_type_get(self, type_name: str, context: Context | None = None) -> PolicyType:
        """One policy type, with the JSON Schema of its properties."""
        return self._call('policy_type_get', TypeRequest(type_name), PolicyType, context)

    def get_capabilities(self, context: Context | None = None) -> Capabilities:
        """Who answers, and what it can do."""
        return self._call('get_capabilities', {}, Capabilities, context)

    def _prepared(self, request: R | Mapping[str, Any], kind: type[R]) -> R:
        return codec.decode(request, kind)

    def _call(self, method: str, request: object, reply: type[T], context: Context | None) -> T:
        answer = self._send(method, request, context or {})
        return decoder(reply).decode(answer)

    @abstractmethod
    def _send(self, method: str, request: object, context: Context) -> str:
        """Call a method of a worker; the reply is JSON."""


def expiring(request: R, timeout_s: float) -> R:
    """The request with the time after which nobody waits for its reply, unless it has one."""
    if request.expires_at is not None:
        return request
    at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=timeout_s)
    return msgspec.structs.replace(request, expires_at=at)
