"""What policies need of a cloud, and the clouds there are."""

from collections.abc import Collection, Mapping
from typing import Protocol

from placement_worker.cloud.lbaas import Octavia
from placement_worker.contract.model import Credentials, ServerDetails, Wire


class Network(Wire, frozen=True):
    """A network as Neutron knows it."""

    id: str
    name: str


class Subnet(Wire, frozen=True):
    """A subnet as Neutron knows it; `network` is the one that it is part of."""

    id: str
    name: str
    network: Network
    ip_version: int


class Cloud(Protocol):
    """One project's view of a cloud.

    A region of None is the one that the service is configured with. Every method raises
    `CloudUnavailable` when there is no answer.
    """

    @property
    def home_region(self) -> str | None:
        """The region of nodes for which nothing else names one; None if none is configured."""

    @property
    def load_balancer_region(self) -> str | None:
        """The region that `octavia(None)` works in, where it has a name."""

    def zones(self, region: str | None) -> Mapping[str, bool]:
        """The availability zones that the region's Nova knows: name -> available; {} for an unknown
        region.
        """

    def regions(self) -> Collection[str]:
        """The regions that Keystone knows."""

    def servers(
        self, region: str | None, server_ids: Collection[str]
    ) -> Mapping[str, ServerDetails]:
        """Zone and addresses of servers, by their ids; one that the region's Nova does not know is
        left out.
        """

    def subnet(self, region: str | None, name_or_id: str) -> Subnet | None:
        """The subnet of this id or name; None if the region's Neutron knows none.

        :raises InvalidInput: several have this name.
        """

    def network(self, region: str | None, name_or_id: str) -> Network | None:
        """The network of this id or name; None if the region's Neutron knows none.

        :raises InvalidInput: several have this name.
        """

    def octavia(self, region: str | None) -> Octavia:
        """The region's load balancers."""


class Clouds(Protocol):
    """Where a check gets its cloud from."""

    def acting_for(self, credentials: Credentials, project: str | None) -> Cloud:
        """The cloud as the owner of a cluster sees it.

        :raises Rejected: the credentials do not allow that.
        """

    def acting_as_service(self) -> Cloud:
        """The cloud as the service user sees it, to look at what is public: names of zones and
        regions.
        """
