"""A RabbitMQ cluster on one machine that ends with the test run."""

import secrets
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.broker import LEAN, LOOPBACK, Broker, Host
from tests.ports import free_ports
from tests.process_reaper import Program, Reaper

SIZE = 3


class Cluster:
    """RabbitMQ nodes that form one cluster; each can be killed and started again."""

    def __init__(self, hosts: Sequence[Host] = (LOOPBACK,) * SIZE, settings: str = '') -> None:
        """Prepare the folders of the nodes, which share cookie, peers and, on loopback, epmd."""
        self._folder = Path(tempfile.mkdtemp(prefix='placement-worker-cluster-'))
        (self._epmd_port,) = free_ports(1)
        self._reaper: Reaper | None = None
        self.nodes = [
            Broker(epmd_port=self._epmd_port, erlang_arguments=LEAN, host=host) for host in hosts
        ]
        cookie = secrets.token_hex()
        peers = ''.join(
            f'cluster_formation.classic_config.nodes.{number} = {node.name}\n'
            for number, node in enumerate(self.nodes, start=1)
        )
        for node in self.nodes:
            node.configure(
                f'cluster_formation.peer_discovery_backend = classic_config\n{peers}{settings}'
            )
            file = node.folder / '.erlang.cookie'
            file.write_text(cookie)
            file.chmod(0o400)

    @property
    def url(self) -> str:
        return (
            'rabbit://'
            + ','.join(f'guest:guest@{node.host.address}:{node.port}' for node in self.nodes)
            + '/'
        )

    def start(self) -> Self:
        """Start all nodes; return when they take connections and form one cluster."""
        environment = {**self.nodes[0].environment, 'HOME': str(self._folder)}
        epmd = [Program(LOOPBACK.epmd, str(self._folder / 'epmd'))]
        if self.nodes[0].host is LOOPBACK:
            self._reaper = Reaper(self._folder, epmd, environment)
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            node.wait_until_ready()
        self.await_all()
        return self

    def await_all(self) -> None:
        """Return when all nodes are online; a node takes connections before it counts as online."""
        self.nodes[0].control('await_startup')
        self.nodes[0].control('await_online_nodes', str(SIZE))

    def close(self) -> None:
        for node in self.nodes:
            node.close()
        if self._reaper is not None:
            self._reaper.close()
        shutil.rmtree(self._folder, ignore_errors=True)
