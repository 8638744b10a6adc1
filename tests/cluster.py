"""A RabbitMQ cluster on one machine that ends with the test run."""

import secrets
import shutil
import tempfile
from pathlib import Path
from typing import Self

from tests.broker import EPMD, LEAN, Broker
from tests.ports import free_ports
from tests.process_reaper import Program, Reaper

SIZE = 3


class Cluster:
    """RabbitMQ nodes that form one cluster; each can be killed and started again."""

    def __init__(self) -> None:
        """Prepare the folders of the nodes, which share a cookie, an epmd and a list of peers."""
        self._folder = Path(tempfile.mkdtemp(prefix='placement-worker-cluster-'))
        (self._epmd_port,) = free_ports(1)
        self._reaper: Reaper | None = None
        self.nodes = [Broker(epmd_port=self._epmd_port, erlang_arguments=LEAN) for _ in range(SIZE)]
        cookie = secrets.token_hex()
        peers = ''.join(
            f'cluster_formation.classic_config.nodes.{number} = {node.name}\n'
            for number, node in enumerate(self.nodes, start=1)
        )
        for node in self.nodes:
            node.configure(f'cluster_formation.peer_discovery_backend = classic_config\n{peers}')
            file = node.folder / '.erlang.cookie'
            file.write_text(cookie)
            file.chmod(0o400)

    @property
    def url(self) -> str:
        """The transport URL that names all nodes."""
        return (
            'rabbit://'
            + ','.join(f'guest:guest@127.0.0.1:{node.port}' for node in self.nodes)
            + '/'
        )

    def start(self) -> Self:
        """Start all nodes; return when they take connections and form one cluster."""
        environment = {**self.nodes[0].environment, 'HOME': str(self._folder)}
        self._reaper = Reaper(
            self._folder, [Program(EPMD, str(self._folder / 'epmd'))], environment
        )
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
        """End all nodes and remove their folders."""
        for node in self.nodes:
            node.close()
        if self._reaper is not None:
            self._reaper.close()
        shutil.rmtree(self._folder, ignore_errors=True)
