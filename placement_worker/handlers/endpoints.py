"""The methods of the contract: decode and validate a request, handle it, encode the reply."""

import contextlib
import datetime
import os
import socket
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Any

import msgspec

from placement_worker.cloud.ports import Clouds, OctaviaSettings
from placement_worker.contract import codec, known_inputs, methods, strict_json
from placement_worker.contract.limits import Limits
from placement_worker.contract.methods import Method
from placement_worker.contract.model import (
    ActionPatch,
    BindReply,
    BindRequest,
    Capabilities,
    CheckReply,
    CheckRequest,
    PolicyType,
    ReplyTo,
    TypeRequest,
    ValidateReply,
    ValidateRequest,
)
from placement_worker.errors import Refused, Rejected, error_object
from placement_worker.events.listener import Listener, Listeners
from placement_worker.events.types import (
    BindingEnded,
    BindingStarted,
    CheckEnded,
    CheckStarted,
    PolicyConsulted,
    RequestFailed,
)
from placement_worker.handlers import bindings, chain
from placement_worker.handlers.conditions import Conditions, countdown, state_for_check
from placement_worker.handlers.destinations import Destinations
from placement_worker.handlers.links import Link, links_of
from placement_worker.handlers.ports import Delivery, Record, Recorder
from placement_worker.handlers.request_log import RequestLog
from placement_worker.handlers.validation import validate_check, validate_cluster
from placement_worker.policies.base import Policy
from placement_worker.policies.registry import Registry


class _ReplyAddress(msgspec.Struct, frozen=True):
    """The keys of a request that its reply needs.

    The others are not decoded, since the request may be the one that crashed a worker.
    """

    reply_to: ReplyTo | None = None
    expires_at: datetime.datetime | None = None


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class Endpoints:
    """The methods of `contract.methods`, independent of the transport.

    Each takes a request as plain data or as a JSON string, and returns the reply in the same form.
    `request_id` is the id in the context of the caller.
    """

    def __init__(
        self,
        clouds: Clouds,
        registry: Registry,
        events: Listener | None = None,
        delivery: Delivery | None = None,
        *,
        recorder: Recorder | None = None,
        destinations: Destinations | None = None,
        limits: Callable[[], Limits] = Limits,
        octavia_settings: Callable[[], OctaviaSettings] = OctaviaSettings,
        now: Callable[[], datetime.datetime] = _now,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Set the ports and the settings.

        :param events: the listener for the events of requests.
        :param delivery: delivers replies to the places that `reply_to` names; None to deliver none.
        :param recorder: records decisions; None to record none.
        :param destinations: the places that `reply_to` may name; None for all but the exchange and
            the queues of the worker.
        :param limits: returns the limits in force, for each request.
        :param octavia_settings: returns the settings in force, for each request.
        :param now: the time of day, for the expiry of requests.
        :param clock: seconds, for durations.
        """
        self._clouds = clouds
        self._registry = registry
        self._events = Listeners(RequestLog(), events) if events else RequestLog()
        self._delivery = delivery
        self._recorder = recorder
        self._destinations = destinations or Destinations()
        self._limits = limits
        self._octavia_settings = octavia_settings
        self._now = now
        self._clock = clock
        self._started_at = now().replace(microsecond=0)
        self._plugin_inputs = registry.inputs

    def policy_check(self, raw: object, request_id: str | None = None) -> Any:
        """Decide one check, and deliver the reply to `reply_to` as well.

        :raises Refused: the request is not well-formed; nothing was done.
        """
        with self._reporting_errors(methods.POLICY_CHECK.name, request_id):
            request = self._decode(raw, CheckRequest)
            if request.reply_to:
                self._destinations.check(request.reply_to)
            try:
                reply = self._check(request, request_id)
            except Exception as exc:
                self._deliver(request, request_id, codec.encode(error_object(exc), like=raw))
                raise
            encoded = codec.encode(reply, like=raw)
            self._deliver(request, request_id, encoded)
            return encoded

    def deliver_error(self, raw: object, request_id: str | None, exc: Exception) -> None:
        """Deliver an error to `reply_to` in place of the reply to a check that was not decided."""
        try:
            address = self._decode(raw, _ReplyAddress)
            if address.reply_to:
                self._destinations.check(address.reply_to)
        except Refused:
            return
        self._deliver(address, request_id, codec.encode(error_object(exc), like=raw))

    def policy_attach(self, raw: object, request_id: str | None = None) -> Any:
        """Attach a policy to a cluster.

        :raises Refused: the request is not well-formed; nothing was done.
        """
        return self._bind(
            methods.POLICY_ATTACH,
            lambda request: self._registry.policy(request.policy.spec, '$.policy.spec'),
            bindings.attach,
            raw,
            request_id,
        )

    def policy_detach(self, raw: object, request_id: str | None = None) -> Any:
        """Detach a policy from a cluster; its spec need not be valid.

        :raises Refused: the request is not well-formed; nothing was done.
        """
        return self._bind(
            methods.POLICY_DETACH,
            lambda request: self._registry.detachable(request.policy, '$.policy.spec'),
            bindings.detach,
            raw,
            request_id,
        )

    def policy_validate(self, raw: object, request_id: str | None = None) -> Any:
        """Check a policy spec and return it with its defaults filled in.

        :raises Refused: no such type is installed, or the properties do not fit.
        :raises Rejected: the cloud does not answer.
        """
        request = self._decode(raw, ValidateRequest)
        policy = self._registry.policy(request.spec, '$.spec')
        if request.check_resources:
            policy.check_resources(self._clouds.acting_as_service())
        properties = msgspec.to_builtins(policy.properties)
        spec = msgspec.structs.replace(request.spec, properties=properties)
        return codec.encode(ValidateReply(spec), like=raw)

    def policy_type_list(self, raw: object, request_id: str | None = None) -> Any:
        """Return the installed policy types by name."""
        self._decode(raw, dict[str, Any])
        types: list[PolicyType] = [
            self._registry.describe(name) for name in sorted(self._registry.types)
        ]
        return codec.encode(types, like=raw)

    def policy_type_get(self, raw: object, request_id: str | None = None) -> Any:
        """Return a policy type with the JSON Schema of its properties.

        :raises PolicyTypeNotFound: no such type or version is installed.
        """
        request = self._decode(raw, TypeRequest)
        self._registry.lookup(request.type_name, '$.type_name')
        return codec.encode(self._registry.describe(request.type_name, schema=True), like=raw)

    def get_capabilities(self, raw: object, request_id: str | None = None) -> Any:
        """Return the version, the process and the policy types of the worker."""
        self._decode(raw, dict[str, Any])
        capabilities = Capabilities(
            version=metadata.version('placement-worker'),
            policy_types=sorted(self._registry.types),
            hostname=socket.gethostname(),
            pid=os.getpid(),
            started_at=self._started_at,
        )
        return codec.encode(capabilities, like=raw)

    def _decode(self, raw: object, kind: type[codec.T]) -> codec.T:
        decode: Callable[..., codec.T] = (
            strict_json.decode if isinstance(raw, str) else codec.decode
        )
        return decode(raw, kind, max_bytes=self._limits().request_bytes)

    def _deliver(
        self, request: CheckRequest | _ReplyAddress, request_id: str | None, reply: Any
    ) -> None:
        if request.reply_to and self._delivery:
            left_s = countdown(request.expires_at, self._now)()
            self._delivery.reply(request.reply_to, request_id, reply, left_s)

    def _check(self, request: CheckRequest, request_id: str | None) -> CheckReply:
        validate_check(request)
        links = links_of(request, self._registry)
        self._events.handle(CheckStarted(request, request_id))
        started = self._clock()
        conditions, record = self._begin(request, request_id)
        reply = self._decide(links, request, conditions)
        if record:
            record.end(methods.POLICY_CHECK.name, request, reply)
        elapsed_s = self._clock() - started
        for decision in reply.decisions:
            self._events.handle(
                PolicyConsulted(decision.policy_type, decision.outcome, decision.elapsed_ms / 1000)
            )
        self._events.handle(CheckEnded(request, reply, elapsed_s, request_id))
        return reply

    def _decide(
        self, links: list[Link], request: CheckRequest, conditions: Conditions
    ) -> CheckReply:
        needs_cloud = any(link.skip_reason is None for link in links)
        try:
            state = state_for_check(request, conditions, needs_cloud=needs_cloud)
        except Rejected as exc:
            data = {**request.action.data, 'status': 'ERROR', 'reason': str(exc)}
            patch = ActionPatch(request.action.id, data)
            return CheckReply(action=patch, cluster=None, nodes={}, decisions=[])
        reply = chain.run(links, request, state, self._clock)
        unknown = known_inputs.unknown(request.action, self._plugin_inputs)
        if not unknown:
            return reply
        warning = known_inputs.describe(request.action, unknown)
        return msgspec.structs.replace(reply, warnings=[*reply.warnings, warning])

    def _bind(
        self,
        method: Method[BindRequest, BindReply],
        create: Callable[[BindRequest], Policy[Any]],
        act: Callable[[Policy[Any], BindRequest, Conditions], BindReply],
        raw: object,
        request_id: str | None,
    ) -> Any:
        with self._reporting_errors(method.name, request_id):
            request = self._decode(raw, method.request)
            validate_cluster(request.cluster)
            policy = create(request)
            self._events.handle(BindingStarted(method.name, request, request_id))
            started = self._clock()
            conditions, record = self._begin(request, request_id)
            reply = act(policy, request, conditions)
            if record:
                record.end(method.name, request, reply)
            elapsed_s = self._clock() - started
            # Labels of metrics must not hold names of types that callers invent.
            asked = request.policy.spec.type_name
            type_name = asked if asked in self._registry.types else policy.name
            self._events.handle(
                BindingEnded(
                    method.name, request, reply, policy.name, type_name, elapsed_s, request_id
                )
            )
            return codec.encode(reply, like=raw)

    def _begin(
        self, request: CheckRequest | BindRequest, request_id: str | None
    ) -> tuple[Conditions, Record | None]:
        """Return the conditions of a decision, and its record if decisions are recorded."""
        conditions = Conditions(
            self._clouds,
            self._octavia_settings(),
            self._limits().nodes_per_cluster,
            countdown(request.expires_at, self._now),
        )
        if self._recorder is None:
            return conditions, None
        record = self._recorder.begin(request_id, self._now(), conditions)
        return record.conditions, record

    @contextlib.contextmanager
    def _reporting_errors(self, method: str, request_id: str | None) -> Iterator[None]:
        """Report the error that ends the block."""
        try:
            yield
        except Exception as exc:
            self._events.handle(RequestFailed(method, exc, request_id))
            raise
