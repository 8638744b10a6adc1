"""Call the methods of the worker in this process, without a broker."""

import datetime
import logging
from collections.abc import Callable
from typing import Any, Self

import msgspec
from typing_extensions import override

from placement_worker.cloud.ports import Clouds
from placement_worker.contract import rpc
from placement_worker.contract.caller import Caller, Context
from placement_worker.contract.model import CheckReply, CheckRequest
from placement_worker.errors import PlacementWorkerError, WorkerFailed, with_notes
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.handlers.ports import CordonsInForce
from placement_worker.policies.registry import Registry

LOG = logging.getLogger(__name__)


class InProcessCaller(Caller):
    """A caller with a worker of its own, for commands and tests."""

    def __init__(
        self,
        clouds: Clouds,
        registry: Registry,
        now: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.UTC),
        cordons: CordonsInForce | None = None,
    ) -> None:
        """Prepare the worker.

        :param now: returns the time of decisions, with its time zone, for tests.
        :param cordons: returns the cordons in force at a time, for each request; None for none.
        """
        self._registry = registry
        self._now = now
        self._cordons = cordons
        self._endpoints = Endpoints(clouds, registry, now=now, cordons=cordons)

    def over(self, clouds: Clouds) -> Self:
        """Return a caller with the same policy types, time and cordons over another cloud."""
        return type(self)(clouds, self._registry, self._now, self._cordons)

    def policy_check_decoded(self, request: CheckRequest) -> CheckReply:
        """Decide one check; its request was decoded from JSON, so its types are not checked."""
        reply: CheckReply = self._call_endpoint(rpc.POLICY_CHECK.name, request)
        return reply

    @override
    def _send(self, method: str, request: object, context: Context) -> str:
        reply: str = self._call_endpoint(method, msgspec.json.encode(request).decode())
        return reply

    def _call_endpoint(self, method: str, request: str | CheckRequest) -> Any:
        call: Any = getattr(self._endpoints, method)
        try:
            return call(request)
        except PlacementWorkerError:
            raise
        except Exception as exc:
            LOG.debug('%s failed', method, exc_info=True)
            raise WorkerFailed(f'{method} failed: {with_notes(exc)}') from exc
