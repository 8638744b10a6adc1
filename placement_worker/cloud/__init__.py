"""What policies need of a cloud, and the clouds there are."""

from collections.abc import Collection, Mapping
from typing import Protocol

from placement_worker.model import Credentials


class Cloud(Protocol):
    """One project's view of a cloud. Every method raises `CloudUnavailable` when there is no answer."""

    def zones(self, region: str | None) -> Mapping[str, bool]:
        """The availability zones that the region's Nova knows: name -> available; {} for an unknown region.

        :param region: None for the region that the service is configured with.
        """

    def regions(self) -> Collection[str]:
        """The regions that Keystone knows."""

    def server_zones(self, region: str | None, server_ids: Collection[str]) -> Mapping[str, str]:
        """The availability zones of servers, by their ids; a server without one is left out."""


class Clouds(Protocol):
    """Where a check gets its cloud from."""

    def acting_for(self, credentials: Credentials, project: str | None) -> Cloud:
        """The cloud as the owner of a cluster sees it.

        :raises Rejected: the credentials do not allow that.
        """
