"""The worker of a simulation: the real methods of the contract, with simulated time."""

import datetime
from collections.abc import Callable

import msgspec

from placement_worker.cloud.ports import Clouds, OctaviaSettings
from placement_worker.contract.codec import decoder
from placement_worker.contract.model import (
    BindReply,
    BindRequest,
    CheckReply,
    CheckRequest,
    RebalanceReply,
    RebalanceRequest,
)
from placement_worker.contract.rpc import Limits
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.handlers.ports import CordonsInForce
from placement_worker.handlers.verifying_registry import VerifyingRegistry
from placement_worker.policies.registry import Registry

ANY_SIZE = 2**62  # bytes of a request


class Decider:
    """Encode requests, let the worker handle them in this process, and decode the replies."""

    def __init__(
        self,
        clouds: Clouds,
        registry: Registry,
        settings: OctaviaSettings,
        max_nodes: int,
        now: Callable[[], datetime.datetime],
        cordons: CordonsInForce | None = None,
    ) -> None:
        self._endpoints = Endpoints(
            clouds,
            VerifyingRegistry(registry),
            limits=lambda: Limits(max_nodes, ANY_SIZE),
            octavia_settings=lambda: settings,
            cordons=cordons,
            now=now,
            clock=lambda: 0.0,  # measured times would make two runs differ
        )

    def check(self, request: CheckRequest) -> CheckReply:
        """Return the reply to a check."""
        encoded = self._endpoints.policy_check(msgspec.json.encode(request).decode())
        return decoder(CheckReply).decode(encoded)

    def rebalance(self, request: RebalanceRequest) -> RebalanceReply:
        """Return the plan of a rebalance."""
        encoded = self._endpoints.policy_rebalance(msgspec.json.encode(request).decode())
        return decoder(RebalanceReply).decode(encoded)

    def attach(self, request: BindRequest) -> BindReply:
        """Return the reply to the attachment of a policy."""
        encoded = self._endpoints.policy_attach(msgspec.json.encode(request).decode())
        return decoder(BindReply).decode(encoded)
