"""A cloud with Heat, whose engines have the plugin."""

from functools import cached_property

from openstack.compute.v2._proxy import Proxy
from typing_extensions import override

from tests.cloud.compute_cloud import ComputeCloud
from tests.heat import layout
from tests.heat.heat_api import Heat
from tests.heat.heat_programs import HeatPrograms


class HeatCloud(ComputeCloud):
    """A region with computes in three zones, a worker with a broker of its own, and Heat."""

    def __init__(self) -> None:
        """Start the brokers and the services without waiting for them."""
        super().__init__(layout.heat_cloud, layout.COMPUTES, layout.VIRTUAL_HOSTS)
        self.heat_programs = HeatPrograms(self.processes, self.broker.url, self.workers_url)
        self.heat = Heat(self.heat_programs.url, self.session('demo'))

    @cached_property
    def compute(self) -> Proxy:
        """Nova, as the user of the stacks; the user exists once the cloud has started."""
        return self.connect('demo').compute

    def engine_logs(self) -> dict[str, str]:
        """Return the log of each engine by its name."""
        engines = self.heat_programs.engines
        return {name: engine.log.read_text() for name, engine in engines.items()}

    @override
    def prepare_engine(self) -> None:
        self.heat_programs.create_database()

    @override
    def start_engine(self) -> None:
        self.heat_programs.add_users(self.connect('admin'))
        self.heat_programs.start()

    @override
    def wait_for_engine(self) -> None:
        admin = Heat(self.heat_programs.url, self.session('admin'))
        self.heat_programs.wait_until_ready(admin)

    @override
    def close_engine(self) -> None:
        self.heat_programs.close()
