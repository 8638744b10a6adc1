"""The methods of the contract: decode and validate a request, handle it, encode the reply."""

import datetime
import functools
import os
import socket
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

import msgspec

from placement_worker.cloud.ports import Clouds, OctaviaSettings
from placement_worker.contract import codec, rpc
from placement_worker.contract.model import (
    Capabilities,
    CheckRequest,
    PolicyType,
    ReplyTo,
    TypeRequest,
    ValidateReply,
    ValidateRequest,
)
from placement_worker.contract.rpc import A, Limits, Method, Q
from placement_worker.errors import InvalidRequest, Refused, error_object
from placement_worker.events.types import Listener, Listeners, RequestFailed
from placement_worker.handlers import request_subject
from placement_worker.handlers.destinations import Destinations
from placement_worker.handlers.ports import CordonsInForce, Delivery, Recorder
from placement_worker.handlers.reply_delivery import ReplyDelivery
from placement_worker.handlers.request_handler import RequestHandler
from placement_worker.handlers.request_log import RequestLog
from placement_worker.policies import plugin_checks
from placement_worker.policies.registry import Registry

_now = functools.partial(datetime.datetime.now, datetime.UTC)


class Endpoints:
    """The methods of `contract.rpc`, independent of the transport.

    Each takes a request as plain data or as a JSON string, and returns the reply in the same form.
    A caller in this process may pass a check as an object that was decoded from JSON; the reply is
    an object, too. `request_id` is the id in the context of the caller.
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
        cordons: CordonsInForce | None = None,
        host: str | None = None,
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
        :param cordons: returns the cordons in force at a time, for each request; None for none.
        :param host: the name to which clients can address requests; None without a transport.
        :param now: the time of day, for decisions and for the expiry of requests.
        :param clock: seconds, for durations.
        """
        log = RequestLog(now)
        self._events = Listeners(log, events) if events else log
        self._handler = RequestHandler(
            clouds,
            registry,
            self._events,
            recorder,
            limits,
            octavia_settings,
            now,
            clock,
            cordons,
        )
        self._clouds = clouds
        self._registry = registry
        self._replies = ReplyDelivery(delivery, destinations or Destinations(), limits, now)
        self._limits = limits
        self._host = host
        self._started_at = now().replace(microsecond=0)

    def policy_check(self, raw: object, request_id: str | None = None) -> Any:
        """Decide one check, and deliver the reply or the error to `reply_to` as well.

        :raises Refused: the request is not well-formed; nothing was done.
        """
        try:
            request = self._decode_check(raw, request_id)
            if request.reply_to:
                return self._check_and_deliver(request, request.reply_to, request_id, raw)
            reply = self._handler.check(request, request_id)
            return codec.encode(reply, like=raw)
        except Exception as exc:
            self._report(rpc.POLICY_CHECK.name, exc, request_id, raw)
            raise

    def subject(self, raw: object) -> str:
        """Return the action and the cluster of a request as the beginning of a line of the log."""
        return request_subject.of_request(raw, self._limits().request_bytes)

    def deliver_error(self, raw: object, request_id: str | None, exc: Exception) -> None:
        """Deliver an error to `reply_to` in place of the reply to a check that was not decided."""
        self._replies.deliver_error(raw, request_id, exc)

    def policy_attach(self, raw: object, request_id: str | None = None) -> Any:
        """Attach a policy to a cluster.

        :raises Refused: the request is not well-formed; nothing was done.
        """
        return self._handled(rpc.POLICY_ATTACH, self._handler.attach, raw, request_id)

    def policy_detach(self, raw: object, request_id: str | None = None) -> Any:
        """Detach a policy from a cluster; its spec need not be valid.

        :raises Refused: the request is not well-formed; nothing was done.
        """
        return self._handled(rpc.POLICY_DETACH, self._handler.detach, raw, request_id)

    def policy_rebalance(self, raw: object, request_id: str | None = None) -> Any:
        """Plan the steps that lead the nodes of a cluster to their best counts; write nothing.

        :raises Refused: the request is not well-formed.
        """
        return self._handled(rpc.POLICY_REBALANCE, self._handler.rebalance, raw, request_id)

    def policy_validate(self, raw: object, request_id: str | None = None) -> Any:
        """Check a policy spec and return it with its defaults filled in.

        :raises Refused: no such type is installed, or the properties do not fit.
        :raises Rejected: the cloud does not respond.
        """
        request = self._decode(raw, ValidateRequest)
        policy = self._registry.policy(request.spec, '$.spec')
        if request.check_resources:
            with plugin_checks.named_in_errors(policy.type_name, type(policy), kept=()):
                policy.check_resources(self._clouds.acting_as_service())
        properties = msgspec.to_builtins(policy.properties)
        spec = msgspec.structs.replace(request.spec, properties=properties)
        return codec.encode(ValidateReply(spec), like=raw)

    def policy_type_list(self, raw: object, request_id: str | None = None) -> Any:
        """Return the installed policy types by name and version."""
        self._decode(raw, dict[str, Any])
        types: list[PolicyType] = [*map(self._registry.describe, self._registry.types)]
        return codec.encode(types, like=raw)

    def policy_type_get(self, raw: object, request_id: str | None = None) -> Any:
        """Return a policy type with the JSON Schema of its properties.

        :raises PolicyTypeNotFound: no such type or version is installed.
        """
        request = self._decode(raw, TypeRequest)
        self._registry.lookup(request.type_name, '$.type_name')
        return codec.encode(self._registry.describe(request.type_name, schema=True), like=raw)

    def get_capabilities(self, raw: object, request_id: str | None = None) -> Any:
        """Return the versions, the process and the policy types of the worker."""
        self._decode(raw, dict[str, Any])
        capabilities = Capabilities(
            version=metadata.version('placement-worker'),
            policy_types=list(self._registry.types),
            hostname=socket.gethostname(),
            pid=os.getpid(),
            started_at=self._started_at,
            contract=rpc.VERSION,
            host=self._host,
        )
        return codec.encode(capabilities, like=raw)

    def _decode(self, raw: object, kind: type[codec.T]) -> codec.T:
        limit = self._limits().request_bytes
        if not isinstance(raw, str):
            return codec.decode(raw, kind, max_bytes=limit)
        try:  # ASCII, which is as long in bytes as in characters, need not be copied
            encoded = raw if raw.isascii() else raw.encode()
        except UnicodeEncodeError as exc:
            raise InvalidRequest(f'Expected JSON - at `$`: {exc}') from exc
        return codec.decode_encoded(encoded, kind, limit)

    def _decode_check(self, raw: object, request_id: str | None) -> CheckRequest:
        if isinstance(raw, CheckRequest):
            return raw
        try:
            return self._decode(raw, CheckRequest)
        except Refused as exc:
            self.deliver_error(raw, request_id, exc)
            raise

    def _check_and_deliver(
        self, request: CheckRequest, to: ReplyTo, request_id: str | None, raw: object
    ) -> Any:
        self._replies.check_destination(to, request_id)
        try:
            decided = self._handler.check(request, request_id)
            reply = codec.encode(decided, like=raw)
        except Exception as exc:
            error = codec.encode(error_object(exc), like=raw)
            self._replies.deliver(to, request.expires_at, request_id, error)
            raise
        self._replies.deliver(to, request.expires_at, request_id, reply)
        return reply

    def _report(self, method: str, exc: Exception, request_id: str | None, raw: object) -> None:
        self._events.handle(RequestFailed(method, exc, request_id, self.subject(raw)))

    def _handled(
        self,
        method: Method[Q, A],
        handle: Callable[[Q, str | None], A],
        raw: object,
        request_id: str | None,
    ) -> Any:
        try:
            return codec.encode(handle(self._decode(raw, method.request), request_id), like=raw)
        except Exception as exc:
            self._report(method.name, exc, request_id, raw)
            raise
