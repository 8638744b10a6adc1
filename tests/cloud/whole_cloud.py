"""A whole cloud: Senlin with the plugin, workers, and every service that they call."""

from collections.abc import Mapping

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
        self.senlin_programs = SenlinPrograms(self.processes, self.broker.url, self.workers_url)
        url = self.senlin_programs.url
        self.senlin = Senlin(url, self.session('demo'))
        self.senlin_admin = Senlin(url, self.session('admin'))

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

    @override
    def close_engine(self) -> None:
        self.senlin_programs.close()

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
        return {one.id for one in self.connect('demo').load_balancer.load_balancers()}

    def delete_server(self, server: str, region: str = 'RegionOne') -> None:
        """Delete a server without Senlin, and wait until Nova has no such server."""
        self.connect('demo', region).compute.delete_server(server)
        wait_for(lambda: server not in self.servers(region))

    def trust_of(self, user: str) -> str:
        """Return the id of the trust that a user has given to Senlin."""
        identity, session = self.connect(user).identity, self.session(user)
        [trust] = identity.trusts(trustor_user_id=session.get_user_id())
        return str(trust.id)
