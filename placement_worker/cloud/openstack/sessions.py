"""Sessions that act for the owner of a trust, or for the service user; kept, so that a warm check
needs no token.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from keystoneauth1 import session as keystone
from keystoneauth1.access import AccessInfo
from keystoneauth1.identity import BaseIdentityPlugin

from placement_worker.cloud import deadline
from placement_worker.cloud.openstack import error_translation, http
from placement_worker.cloud.openstack.retry_policy import RetryPolicy
from placement_worker.cloud.openstack.services import TRUST_LOGIN, USER_LOGIN
from placement_worker.cloud.ports import ApiError
from placement_worker.cloud.request_id import current_request_id
from placement_worker.cloud.single_flight import SingleFlight

TRUST_LOGGER = 'keystoneauth.identity.v3.base'
"""The logger that repeats whole tokens' bodies at DEBUG, with the ids of trusts."""


def _is_no_debug(record: logging.LogRecord) -> bool:
    return record.levelno > logging.DEBUG


@dataclass(frozen=True, slots=True)
class Access:
    """How the cloud is reached.

    :ivar log_in: what authenticates the service user, scoped to the trust of that id, or to its own
        project for None.
    :ivar region: the one that is meant where none is named; None for the first one of the catalog.
    :ivar interfaces: of the catalog, the most wanted first.
    :ivar connection: further arguments of keystoneauth's Session: verify, cert, timeout (of one
        request, in seconds).
    """

    log_in: Callable[[str | None], BaseIdentityPlugin]
    region: str | None
    interfaces: Sequence[str]
    connection: Mapping[str, Any]


class Session(keystone.Session):
    """A session of one trust: it says who failed when it gets no token, and gets one once for all
    threads.

    :ivar load_balancers: region -> what `octavia_api` made for it.
    """

    def __init__(self, trust_id: str | None, access: Access, shared: 'Sessions') -> None:
        self.plugin = access.log_in(trust_id)
        super().__init__(
            self.plugin,
            session=shared.connections,
            discovery_cache=shared.discovered,
            app_name='placement-worker',
            **access.connection,
        )
        self.trust_id = trust_id
        self._shared = shared
        self._service = TRUST_LOGIN if trust_id else USER_LOGIN
        self._project: str | None = None
        self._sent = threading.local()
        self.load_balancers: dict[str | None, Any] = {}

    @property
    def project(self) -> str | None:
        """The project that it acts in; asked once, as neither trusts nor the service user's project
        change.

        :raises ServiceFailed: Keystone gives no token.
        """
        if self._project is None:
            self._project = self.log_in().project_id
        return self._project

    def log_in(self) -> AccessInfo:
        """What the token that we have says, or a new one if it is about to expire.

        :raises ServiceFailed: Keystone gives none.
        """
        left_s = deadline.left_s(self._shared.retry_policy.budget_s)
        ask = partial(self._shared.retry_policy.call, self._service, self._log_in)
        return self._shared.single_flight.do(('token', self.trust_id), ask, wait_s=left_s)

    def request(self, *args: Any, **kwargs: Any) -> Any:
        """As in keystoneauth1; and the service is told the id of the request that it is asked
        for.
        """
        kwargs['global_request_id'] = kwargs.get('global_request_id') or current_request_id()
        return super().request(*args, **kwargs)

    def get_auth_headers(self, auth: Any = None, **kwargs: Any) -> dict[str, str] | None:
        """As in keystoneauth1.

        :raises ServiceFailed: Keystone gives no token.
        """
        self._sent.token = self.log_in().auth_token
        return {'X-Auth-Token': self._sent.token}

    def invalidate(self, auth: Any = None) -> bool:
        """As in keystoneauth1; but of many threads whose token was refused only the first one
        throws it away.
        """
        held = self.plugin.auth_ref
        if held is not None and held.auth_token == self._sent.token:
            self.plugin.invalidate()
        return True

    def _log_in(self) -> AccessInfo:
        try:
            found = self.plugin.get_access(self)
            _ = (
                found.auth_token,
                found.project_id,
                found.expires,
            )  # or a later reader would stumble over their absence
        except error_translation.LIBRARY_ERRORS as exc:
            fault = error_translation.translate(exc, self.plugin.auth_url)
            raise ApiError(self._redacted(str(fault)), fault.status, fault.retry_after_s) from None
        return found

    def _redacted(self, text: str) -> str:
        """Keystone repeats the id of a trust that it does not find."""
        return text.replace(self.trust_id, '***') if self.trust_id else text


class Sessions:
    """A session a trust; those that were used last are kept. Threads share it; it opens nothing
    before it is used.
    """

    def __init__(self, access: Access, retry_policy: RetryPolicy, max_sessions: int) -> None:
        """Make room.

        :param max_sessions: kept for trusts, at least 1; that of the service user is kept besides.
        """
        logging.getLogger(TRUST_LOGGER).addFilter(_is_no_debug)
        self.retry_policy = retry_policy
        self.single_flight = SingleFlight()
        self.connections = http.session()
        self.discovered: dict[str, Any] = {}
        self._access = access
        self._max = max_sessions
        self._lock = threading.Lock()
        self._kept: OrderedDict[str | None, Session] = OrderedDict()

    def of(self, trust_id: str | None) -> Session:
        """The session of a trust, or of the service user for None."""
        with self._lock:
            session = self._kept.get(trust_id)
            if session is None:
                session = self._kept[trust_id] = Session(trust_id, self._access, self)
                self._drop_oldest()
            self._kept.move_to_end(trust_id)
            return session

    def _drop_oldest(self) -> None:
        trusts = [trust_id for trust_id in self._kept if trust_id is not None]
        if len(trusts) > self._max:
            del self._kept[trusts[0]]
