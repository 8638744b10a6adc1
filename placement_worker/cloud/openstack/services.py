"""The services that are asked: how they are called when they fail, and what to check when they
refuse.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Service:
    """A service in one region.

    :ivar name: e.g. Compute.
    :ivar region: None for a service that all regions share.
    :ivar advice: status of HTTP -> what to check, where asking again does not help.
    """

    name: str
    region: str | None
    advice: Mapping[int, str]

    @property
    def where(self) -> str:
        """E.g. ' (region RegionOne)'."""
        return f' (region {self.region})' if self.region else ''


_NOT_AN_API = 'the endpoint in the catalog (`openstack catalog list`) leads to this service'
_REFUSED_TOKEN = (
    'the service asks the same Keystone whether a token is valid, and that the trust still exists'  # noqa: S105
)
_OF_TRUST = (
    'the trust exists and has not expired, that the service user of [service_auth] is its trustee, and that its owner '
    'is enabled and still has the roles in the project'
)
_OF_USER = 'user, password, domains and project in [service_auth] are right'
TRUST_LOGIN = Service('Identity', None, dict.fromkeys((401, 403, 404), _OF_TRUST))
USER_LOGIN = Service('Identity', None, dict.fromkeys((401, 403, 404), _OF_USER))


def identity() -> Service:
    """Keystone, asked for regions."""
    return Service('Identity', None, _advice('list regions'))


def compute(region: str | None) -> Service:
    """Nova."""
    return Service('Compute', region, _advice('list availability zones and servers'))


def network(region: str | None) -> Service:
    """Neutron."""
    return Service('Network', region, _advice('list networks and subnets'))


def _advice(rights: str) -> dict[int, str]:
    roles = f'the roles of the trust (or of the service user, without a trust) let it {rights}'
    return {401: _REFUSED_TOKEN, 403: roles, 404: _NOT_AN_API}
