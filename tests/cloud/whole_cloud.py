"""A whole cloud: Senlin with the plugin, workers, and every service that they call."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from typing import Self

from typing_extensions import override

from tests.cloud import layout
from tests.cloud.compute_cloud import ComputeCloud
from tests.cloud.senlin_api import Senlin
from tests.cloud.senlin_programs import SenlinPrograms
from tests.integration import seeding
from tests.integration.proxy import Proxy
from tests.waiting import wait_for


class WholeCloud(ComputeCloud):
    """Two regions with computes, a worker, and Senlin."""

    def __init__(self) -> None:
        """Start the brokers and the services without waiting for them."""
        super().__init__(layout.whole_cloud, layout.COMPUTES, layout.VIRTUAL_HOSTS)
        self.octavia = Proxy(self.services['octavia'].url)
        self._add_senlin(layout.SENLIN)

    def _add_senlin(self, name: str) -> None:
        programs = SenlinPrograms(self.processes, self.broker.url, self.workers_url, name)
        self.senlin_programs, self.senlin_database = programs, programs.database
        self.senlin, self.senlin_admin = (
            Senlin(programs.url, self.session(user), programs.database)
            for user in ('demo', 'admin')
        )

    @override
    def in_catalog(self) -> Mapping[str, seeding.HasUrl]:
        return {**self.services, 'octavia': self.octavia}

    @override
    def prepare_engine(self) -> None:
        self.senlin_programs.create_database()

    @override
    def start_engine(self) -> None:
        self.senlin_programs.start()

    @override
    def wait_for_engine(self) -> None:
        self.senlin_programs.wait_until_ready(self.senlin_admin)
        # creates the user's trust, of which concurrent first requests would create several
        self.senlin.get('clusters')

    @override
    def close_engine(self) -> None:
        self.senlin_programs.close()

    @contextmanager
    def with_second_senlin(self, with_plugin: bool) -> Iterator[Self]:
        """Provide this cloud as the users of another Senlin see it during a block.

        The engines of that Senlin can be killed while tests use the first one.
        """
        seen = copy(self)
        seen._add_senlin(layout.SECOND_SENLIN)
        seen.senlin_programs.configure(with_plugin)
        seen.prepare_engine()
        seen.start_engine()
        try:
            seen.wait_for_engine()
            yield seen
        finally:
            seen.close_engine()

    @override
    def close(self) -> None:
        super().close()
        self.octavia.close()

    @property
    def decides(self) -> bool:
        """Whether the engines have the plugin and a worker runs."""
        runs = any(worker.runs for worker in self.workers.values())
        return self.senlin_programs.has_plugin and runs

    def load_balancers(self) -> set[str]:
        """Return the ids of the load balancers."""
        return {balancer.id for balancer in self.connect('demo').load_balancer.load_balancers()}

    def delete_server(self, server: str, region: str = 'RegionOne') -> None:
        """Delete a server without Senlin, and wait until Nova has no such server."""
        self.connect('demo', region).compute.delete_server(server)
        wait_for(lambda: server not in self.servers(region))

    def trust_of(self, user: str) -> str:
        """Return the id of the trust that a user has given to Senlin."""
        identity, session = self.connect(user).identity, self.session(user)
        [trust] = identity.trusts(trustor_user_id=session.get_user_id())
        return str(trust.id)
