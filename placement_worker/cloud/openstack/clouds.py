"""OpenStack clouds with the rights of a cluster's owner or of the service user."""

from typing_extensions import override

from placement_worker.cloud.openstack.lookup_limits import RetryPolicy
from placement_worker.cloud.openstack.project_cloud import ProjectCloud
from placement_worker.cloud.openstack.sessions import Access, Sessions
from placement_worker.cloud.ports import Clouds
from placement_worker.contract.model import Credentials
from placement_worker.errors import CredentialsRefused


class OpenStackClouds(Clouds):
    """The clouds of all cluster owners.

    The class is thread-safe. It opens no connection before the first lookup, so a process may fork
    after its creation.
    """

    def __init__(
        self,
        access: Access,
        *,
        retry_policy: RetryPolicy = RetryPolicy(),  # noqa: B008  # frozen
        max_sessions: int = 256,
        validity_ttl_s: float = 0,
        allow_service_credentials: bool = False,
    ) -> None:
        """Set the parameters of the connection.

        :param retry_policy: the limits of retries. All lookups of a check share its `budget_s`.
        :param max_sessions: the number of cached sessions of trusts.
        :param validity_ttl_s: how long zones and regions are cached.
        :param allow_service_credentials: whether a request without a trust may use the rights of
            the service user.
        """
        self.access = access
        self.retry_policy = retry_policy
        self.validity_ttl_s = validity_ttl_s
        self._allow_service_credentials = allow_service_credentials
        self.sessions = Sessions(access, retry_policy, max_sessions)

    @override
    def acting_for(self, credentials: Credentials, project: str | None) -> ProjectCloud:
        if not credentials.trust_id and not self._allow_service_credentials:
            raise CredentialsRefused(
                'The request has no trust: set `credentials.trust_id` to a trust from the owner '
                'of the cluster to the service user, or enable [cloud] allow_service_credentials '
                "to use that user's own rights"
            )
        cloud = self._cloud(credentials.trust_id, project)
        if credentials.trust_id and cloud.project != project:
            raise CredentialsRefused(
                f'The trust belongs to project {cloud.project}, but the cluster belongs to project '
                f'{project}: send a trust from the owner of the cluster'
            )
        return cloud

    @override
    def acting_as_service(self) -> ProjectCloud:
        return self._cloud(None, None)

    def _cloud(self, trust_id: str | None, project: str | None) -> ProjectCloud:
        session = self.sessions.of(trust_id or None)
        return ProjectCloud(self.access, self.sessions, session, project, self.validity_ttl_s)
