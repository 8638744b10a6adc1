"""A whole cloud: Senlin with the plugin, workers, and every service that they call."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Self

from typing_extensions import override

from tests.cloud import layout
from tests.cloud.compute_cloud import ComputeCloud
from tests.cloud.senlin_api import Senlin
from tests.cloud.senlin_programs import SenlinPrograms
from tests.integration.proxy import Proxy
from tests.waiting import wait_for


class WholeCloud(ComputeCloud):
    """Two regions with computes, a worker, and Senlin."""

    engine: SenlinPrograms

    def __init__(self) -> None:
        super().__init__(layout.whole_cloud, layout.COMPUTES, layout.VIRTUAL_HOSTS)
        self.octavia = Proxy(self.services['octavia'].url)
        self.in_catalog['octavia'] = self.octavia
        self.engine = SenlinPrograms(self, layout.SENLIN)

    @property
    def senlin(self) -> Senlin:
        return self.engine.senlin

    @contextmanager
    def with_second_senlin(self, with_plugin: bool) -> Iterator[Self]:
        """Provide this cloud as the users of another Senlin see it during a block.

        The engines of that Senlin can be killed while tests use the first one.
        """
        seen = copy(self)
        seen.engine = SenlinPrograms(self, layout.SECOND_SENLIN)
        seen.engine.configure(with_plugin)
        seen.engine.create_database()
        seen.engine.start()
        try:
            seen.engine.wait_until_ready()
            yield seen
        finally:
            seen.engine.close()

    @override
    def close(self) -> None:
        super().close()
        self.octavia.close()

    @property
    def decides(self) -> bool:
        """Whether the engines have the plugin and a worker runs."""
        runs = any(worker.runs for worker in self.workers.values())
        return self.engine.has_plugin and runs

    def load_balancers(self) -> set[str]:
        return {balancer.id for balancer in self.connect('demo').load_balancer.load_balancers()}

    def delete_server(self, server: str, region: str = 'RegionOne') -> None:
        """Delete a server without Senlin, and wait until Nova has no such server."""
        self.connect('demo', region).compute.delete_server(server)
        wait_for(lambda: server not in self.servers(region))

    def trust_of(self, user: str) -> str:
        identity, session = self.connect(user).identity, self.session(user)
        [trust] = identity.trusts(trustor_user_id=session.get_user_id())
        return str(trust.id)
