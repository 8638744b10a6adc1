"""The methods of the contract as a caller sees them, on the bus or in process."""

import datetime
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import msgspec
from typing_extensions import override

from placement_worker.contract import codec, rpc
from placement_worker.contract.codec import decoder
from placement_worker.contract.model import (
    Action,
    BindReply,
    BindRequest,
    Capabilities,
    CheckReply,
    CheckRequest,
    PolicyType,
    RebalanceOptions,
    RebalanceReply,
    RebalanceRequest,
    ReplyTo,
    Spec,
    TypeRequest,
    ValidateRequest,
)
from placement_worker.contract.rpc import A, Method, Q
from placement_worker.errors import InvalidRequest, PlacementWorkerError
from placement_worker.formats.text import did_you_mean, shortened

R = TypeVar('R', CheckRequest, BindRequest, RebalanceRequest)
Context = Mapping[str, Any]
# A function that takes the request id of a cast, and its reply or error.
Callback = Callable[[str, CheckReply | PlacementWorkerError], object]

# The keys of the caller's context that are sent; its passwords and tokens stay in the engine.
SENT_CONTEXT = ('request_id', 'global_request_id', 'user_id', 'project_id')
# From this similarity on, an unknown key of a context or request is probably a misspelt one.
# `requestid` has 0.95, and `resource_uuid`, a key of oslo.context, has 0.61.
_MISSPELT = 0.8


class Receiver(AbstractContextManager['Receiver']):
    """Passes replies to a callback until `stop`, or until the end of its block."""

    @abstractmethod
    def stop(self) -> None: ...

    @override
    def __exit__(self, *_: object) -> None:
        self.stop()


class Caller(ABC):
    """The methods of the contract.

    Each may raise `Refused`, and `NoWorkerAnswered` if the worker runs elsewhere. Requests may be
    objects of `model` or plain data; keys of plain data that the contract does not list are removed
    before a request is sent, unless they are probably misspelt (`dryrun`). `context` is the context
    of the caller as a dict; only its `request_id`, `global_request_id`, `user_id` and `project_id`
    are sent.

    :raises Refused: the request does not fit the contract; do not send it again.
    :raises NoWorkerAnswered: no reply in time, or no broker (BrokerUnreachable); ask again.
    :raises BrokerRefused: the broker refuses access.
    :raises WorkerTooOld: the worker has an older version of the contract than the request needs.
    :raises RequestParked: the request crashed several workers; do not send it again.
    :raises ReplyTooLarge: the broker does not take the reply; ask with less `explain`.
    :raises WorkerFailed: the worker has a bug or a broken plugin.
    :raises ConfigurationError: the transport URL or an option cannot be used.
    """

    def policy_check(
        self, request: CheckRequest | Mapping[str, Any], context: Context | None = None
    ) -> CheckReply:
        """Decide one check; a policy that cannot decide is a reply with status ERROR."""
        return self._call(rpc.POLICY_CHECK, self._prepared(request, CheckRequest), context)

    def policy_attach(
        self, request: BindRequest | Mapping[str, Any], context: Context | None = None
    ) -> BindReply:
        """Attach a policy to a cluster; the reply has its new data, or status ERROR."""
        return self._call(rpc.POLICY_ATTACH, self._prepared(request, BindRequest), context)

    def policy_detach(
        self, request: BindRequest | Mapping[str, Any], context: Context | None = None
    ) -> BindReply:
        """Detach a policy from a cluster; the reply has its new data, or status ERROR."""
        return self._call(rpc.POLICY_DETACH, self._prepared(request, BindRequest), context)

    def policy_rebalance(
        self, request: RebalanceRequest | Mapping[str, Any], context: Context | None = None
    ) -> RebalanceReply:
        """Plan the steps that lead the nodes of a cluster to their best counts; write nothing."""
        return self._call(rpc.POLICY_REBALANCE, self._prepared(request, RebalanceRequest), context)

    def policy_validate(
        self,
        spec: Spec | Mapping[str, Any],
        check_resources: bool = False,
        context: Context | None = None,
    ) -> Spec:
        """Check a policy spec and return it with its defaults filled in."""
        request = ValidateRequest(_decoded_spec(spec), check_resources)
        return self._call(rpc.POLICY_VALIDATE, request, context).spec

    def policy_type_list(self, context: Context | None = None) -> list[PolicyType]:
        """Return the policy types of the worker."""
        return self._call(rpc.POLICY_TYPE_LIST, {}, context)

    def policy_type_get(self, type_name: str, context: Context | None = None) -> PolicyType:
        """Return a policy type with the JSON Schema of its properties."""
        return self._call(rpc.POLICY_TYPE_GET, TypeRequest(type_name), context)

    def get_capabilities(self, context: Context | None = None) -> Capabilities:
        """Return the version, the process and the policy types of the worker."""
        return self._call(rpc.GET_CAPABILITIES, {}, context)

    def _prepared(self, request: R | Mapping[str, Any], kind: type[R]) -> R:
        if isinstance(request, Mapping):
            _check_keys(request, kind)
        return codec.decode(request, kind)

    def _call(self, method: Method[Q, A], request: Q, context: Context | None) -> A:
        reply = self._send(method.name, request, checked_context(context))
        return decoder(method.reply).decode(reply)

    @abstractmethod
    def _send(self, method: str, request: object, context: Context) -> str:
        """Send a request to a worker and return the reply as JSON."""


class CastingCaller(Caller):
    """A caller that also casts checks and receives the replies."""

    _exchange = rpc.EXCHANGE
    _topics: Sequence[str] = (rpc.TOPIC, rpc.SLOW_TOPIC)

    def cast_check(
        self,
        request: CheckRequest | Mapping[str, Any],
        reply_to: ReplyTo | Mapping[str, str] | None = None,
        context: Context | None = None,
    ) -> str:
        """Request a check without waiting; the worker casts the reply to `reply_to`.

        The cast calls `method(request_id, reply)` there; after an error `reply` is
        `{"error": {"type", "message"}}`. The timeout of the client bounds the wait for the broker.
        Set `expires_at` of the request: a cast without it never expires.

        :param request: the check; its own `reply_to` is replaced.
        :param reply_to: the destination of the reply, with any method; None for no reply.
        :returns: the `request_id` of the context, or a new one, which returns with the reply.
        :raises InvalidRequest: a key or the type of a value does not fit the contract, workers
            refuse `reply_to` in general, or the context is invalid. All other mistakes, for example
            in the spec of a policy, are the reply.
        :raises NoWorkerAnswered: no worker has ever run on this broker; other errors as of a call.
        """
        to = None if reply_to is None else codec.decode(reply_to, ReplyTo, at='$.reply_to')
        if to is not None:
            self._check_reply_names(to, '$.reply_to')
        # The method of a subclass may let the request expire.
        prepared = super()._prepared(request, CheckRequest)
        ids = checked_context(context)
        request_id = ids.get('request_id') or f'req-{uuid.uuid4()}'
        self._cast(msgspec.structs.replace(prepared, reply_to=to), ids, request_id)
        return request_id

    def serve_replies(self, exchange: str, topic: str, callback: Callback) -> Receiver:
        """Pass the replies to casts to a callback, in a thread, until the receiver is stopped.

        Declare the exchange and the queue, so that replies can wait there. A message is
        acknowledged after `callback(request_id, reply)` returns. If it raises, the reply is
        delivered again, after pauses and at most ten times. A reply may be delivered twice.

        :param exchange: the exchange that `ReplyTo` names; not that of the workers.
        :param topic: the topic that `ReplyTo` names, which is also the name of the queue.
        :returns: the receiver, also a context manager; `stop` stops it.
        :raises InvalidRequest: workers refuse to reply to that exchange or topic, or the callback
            cannot be called.
        :raises QueueMismatch: the exchange or the queue exists with other options.
        :raises BrokerRefused: the broker refuses access, or a permission is missing.
        :raises BrokerUnreachable: no host responds.
        """
        _check_callback(callback)
        place = {'exchange': exchange, 'topic': topic, 'method': 'm'}
        self._check_reply_names(codec.decode(place, ReplyTo, at='$'), '$')
        return self._receiver(exchange, topic, callback)

    def _check_reply_names(self, to: ReplyTo, at: str) -> None:
        suffixes = ('', rpc.ISOLATION_SUFFIX, rpc.PARKING_SUFFIX)
        queues = {topic + suffix for topic in self._topics for suffix in suffixes}
        rpc.check_exchange(to.exchange, self._exchange, f'{at}.exchange')
        rpc.check_topic(to.topic, queues, f'{at}.topic')

    @abstractmethod
    def _cast(self, request: CheckRequest, context: Context, request_id: str) -> None:
        """Send a request whose reply goes to its `reply_to`."""

    @abstractmethod
    def _receiver(self, exchange: str, topic: str, callback: Callback) -> Receiver: ...


def _decoded_spec(spec: Spec | Mapping[str, Any]) -> Spec:
    try:
        return codec.decode(spec, Spec)
    except InvalidRequest as exc:
        if isinstance(spec, Mapping) and 'spec' in spec:
            raise InvalidRequest(
                f'{exc} (pass the value of `spec`, not the map around it)'
            ) from None
        raise


def checked_context(context: Context | None) -> Context:
    """Return the context, or an empty one for None.

    A context may have keys that are not sent, such as those of oslo.context. A misspelt id would
    be lost without an error, and the reply to a cast would have an unknown one.

    :raises InvalidRequest: it is no map, an id is no text, or the name of an id is misspelt.
    """
    if context is None:
        return {}
    if not isinstance(context, Mapping):
        raise InvalidRequest(
            f'Expected a map with `request_id`, got `{type(context).__name__}` - at `context`'
        )
    for key in SENT_CONTEXT:
        if not isinstance(context.get(key), str | None):
            kind = type(context[key]).__name__
            raise InvalidRequest(f'Expected `str`, got `{kind}` - at `context.{key}`')
    _check_spelling(context, SENT_CONTEXT[:2], 'context')
    return context


def _check_callback(callback: object) -> None:
    """Refuse a callback that cannot be called: each reply would be dropped."""
    if not callable(callback):
        kind = type(callback).__name__
        raise InvalidRequest(f'Expected a function, got `{kind}` - at `callback`')


def _check_keys(request: Mapping[str, Any], kind: type[R]) -> None:
    """Check that no key of a request is misspelt: `dryrun` would change a load balancer.

    The keys of nodes and policies are not checked: a cluster may have thousands.
    """
    _check_spelling(request, kind.__struct_fields__, '$')
    for name, part in (('action', Action), ('options', RebalanceOptions)):
        if name in kind.__struct_fields__ and isinstance(request.get(name), Mapping):
            _check_spelling(request[name], part.__struct_fields__, f'$.{name}')


def _check_spelling(given: Mapping[str, Any], known: Sequence[str], at: str) -> None:
    """Refuse an unknown key that resembles a known key that is missing."""
    for key in given.keys() - known:
        name = shortened(str(key))
        missing = [name for name in known if name not in given]
        hint = did_you_mean(name, missing, cutoff=_MISSPELT)
        if hint:
            raise InvalidRequest(f'Unknown key `{name}`{hint} - at `{at}`')


def expiring(request: R, timeout_s: float) -> R:
    """Return the request with an expiry time: its own, or `timeout_s` seconds from now."""
    if request.expires_at is not None:
        return request
    at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=timeout_s)
    return msgspec.structs.replace(request, expires_at=at)
