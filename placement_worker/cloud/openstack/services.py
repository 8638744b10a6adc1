"""Names of OpenStack services in error messages, and advice for refused requests."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Service:
    """A service in one region.

    :ivar name: for example Compute.
    :ivar region: None for a service that all regions share.
    :ivar advice: HTTP status -> what to check if another attempt does not help.
    """

    name: str
    region: str | None
    advice: Mapping[int, str]

    @property
    def where(self) -> str:
        """The region as a suffix of messages, for example ' (region RegionOne)'."""
        return f' (region {self.region})' if self.region else ''


_NOT_AN_API = (
    'the endpoint in the catalog leads to this service; openstack catalog list shows the endpoints'
)
_TOKEN_REFUSED = (
    'the service validates tokens at the same Keystone, and that the trust still exists'  # noqa: S105
)
_TRUST = (
    'the trust exists and has not expired, that the service user of [service_auth] is its '
    'trustee, and that its owner is enabled and still has the roles in the project'
)
_USER = 'user, password, domains and project in [service_auth] are right'
TRUST_LOGIN = Service('Identity', None, dict.fromkeys((401, 403, 404), _TRUST))
USER_LOGIN = Service('Identity', None, dict.fromkeys((401, 403, 404), _USER))


def identity() -> Service:
    """Return Keystone as the source of regions."""
    return Service('Identity', None, _advice('list regions'))


def compute(region: str | None) -> Service:
    """Return Nova of a region."""
    return Service('Compute', region, _advice('list availability zones and servers'))


def network(region: str | None) -> Service:
    """Return Neutron of a region."""
    return Service('Network', region, _advice('list networks and subnets'))


def _advice(rights: str) -> dict[int, str]:
    roles = f'the roles of the trust (or of the service user, without a trust) let it {rights}'
    return {401: _TOKEN_REFUSED, 403: roles, 404: _NOT_AN_API}
