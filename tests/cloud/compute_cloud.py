"""Services, computes and workers; a subclass adds the engine that the workers serve."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from typing_extensions import override

from placement_worker.client.rpc_client import PolicyClient
from tests.broker import LEAN, Broker
from tests.cloud import computes, programs
from tests.cloud.background import at_once
from tests.cloud.programs import EnginePrograms, RestartableProgram
from tests.functional.conftest import responds
from tests.integration import mariadb, seeding
from tests.integration.deployment import Deployment
from tests.integration.layout import Layout
from tests.integration.proxy import Proxy
from tests.waiting import wait_for

ETC = Path(__file__).parent / 'etc'
START_S = 300
PROBE_S = 5
WORKERS = ('worker1', 'worker2')


class ComputeCloud(Deployment):
    """A cloud whose servers become ACTIVE, with a worker."""

    engine: EnginePrograms

    def __init__(
        self,
        make_layout: Callable[[Broker], Layout],
        computes_of: Mapping[str, Mapping[str, str]],
        hosts: Sequence[str],
    ) -> None:
        """Start the brokers and the services without waiting for them.

        :param computes_of: the zone of each compute by region.
        :param hosts: the virtual hosts of the services' broker. The workers have a broker of their
            own, which tests kill.
        """
        self.broker, self.workers_broker = (Broker(erlang_arguments=LEAN) for _ in range(2))
        _define_virtual_hosts(self.broker, ['/', *hosts])
        for broker in (self.broker, self.workers_broker):
            broker.launch()
        super().__init__(make_layout(self.broker))
        self.folder = self.processes.folder
        self.cordon_file = self.folder / 'cordons.yaml'
        self.cordon_file.write_text('[]')
        self.keystone = Proxy(self.services['keystone'].url)
        self.workers_url = self.workers_broker.url
        self._computes = computes_of
        self._agents = [
            self._agent(region, binary, name)
            for region in computes_of
            for name, binary in self._agents_of(region).items()
        ]
        self.workers = {name: self._worker(name) for name in WORKERS}
        # The services or proxies in the catalog, by the name of the service.
        self.in_catalog: dict[str, seeding.HasUrl] = {**self.services}

    @override
    def fill(self) -> None:
        for broker in (self.broker, self.workers_broker):
            broker.wait_until_ready()
        wait_for(mariadb.socket_in(self.folder).exists, START_S)
        at_once([self.engine.create_database, self._fill_keystone])
        self.engine.start()
        self.start_worker('worker1')
        for region in self._computes:
            self.nova(region).requests()  # the tables exist once it responds
        for agent in self._agents:
            agent.start()
        zones = [partial(self._add_to_zones, region) for region in self._computes]
        at_once([lambda: seeding.fill_neutron(self.connect('admin')), self._create_image, *zones])
        self.engine.wait_until_ready()
        self.wait_for_worker('worker1')

    @override
    def close(self) -> None:
        self.engine.close()
        for program in [*self.workers.values(), *self._agents]:
            program.kill()
        super().close()
        self.keystone.close()
        for broker in (self.broker, self.workers_broker):
            broker.close()

    def servers(self, region: str = 'RegionOne') -> set[str]:
        compute = self.connect('demo', region).compute
        return {server.id for server in compute.servers(details=False)}

    def decision_logs(self) -> list[Path]:
        """Return the decision log of each worker that has one."""
        return sorted(self.folder.glob('*.decisions'))

    def decisions(self, text: str) -> list[dict[str, Any]]:
        """Return the records with a text in the decision logs of all workers, in order."""
        lines = [line for log in self.decision_logs() for line in log.read_text().splitlines()]
        records = [json.loads(line) for line in lines if text in line]
        return sorted(records, key=lambda record: record['at'])

    def run_only(self, *names: str) -> None:
        """Start some workers, unless they run; kill the others when they respond."""
        for name in names:
            self.start_worker(name)
            self.wait_for_worker(name)
        for other in self.workers.keys() - set(names):
            self.workers[other].kill()

    def start_worker(self, name: str) -> None:
        self.workers[name].start()

    def wait_for_worker(self, name: str) -> None:
        with closing(PolicyClient(self.workers_url, server=name, timeout_s=PROBE_S)) as client:
            wait_for(lambda: responds(client), START_S)

    def _fill_keystone(self) -> None:
        seeding.fill_keystone(self.connect('admin'), self.in_catalog, self.layout)

    def _create_image(self) -> None:
        self.connect('admin').image.create_image(
            name=computes.IMAGE,
            data=b'nothing boots it',
            disk_format='raw',
            container_format='bare',
            visibility='public',
        )

    def _add_to_zones(self, region: str) -> None:
        admin, nova = self.connect('admin', region), self.nova(region)
        computes.add_to_zones(admin, nova, self._computes[region])

    def _agents_of(self, region: str) -> dict[str, str]:
        """Return the program of each agent of a Nova by its name."""
        nova = self.nova(region).name
        names = {f'{nova}-{part}': f'nova-{part}' for part in ('conductor', 'scheduler')}
        return {**names, **dict.fromkeys(self._computes[region], 'nova-compute')}

    def _agent(self, region: str, binary: str, name: str) -> RestartableProgram:
        (self.folder / name).mkdir()
        own = self._configure('agent.conf', name)
        nova = self.folder / 'etc' / f'{self.nova(region).name}.conf'
        if binary == 'nova-compute':
            services, nova = nova, nova.with_name(f'{name}-nova.conf')
            computes.configure(services, nova)
        program = self.processes.environment / 'bin' / binary
        options = ['--config-file', nova, '--config-file', own]
        return RestartableProgram(self.folder, name, [program, *options])

    def _worker(self, name: str) -> RestartableProgram:
        own = self._configure(
            'worker.conf',
            name,
            transport_url=self.workers_url,
            cordon_file=self.cordon_file,
            credentials=self.processes.credentials(self.layout.trustee, self.keystone.url),
        )
        program = programs.installed('placement-worker')
        return RestartableProgram(self.folder, name, [program, '--config-file', own])

    def _configure(self, template: str, name: str, **variables: object) -> Path:
        file = self.folder / 'etc' / f'{name}.conf'
        file.write_text(self.processes.template(ETC / template, name=name, **variables))
        return file


def _define_virtual_hosts(broker: Broker, hosts: Sequence[str]) -> None:
    """Let the broker create virtual hosts in which its only user may do everything."""
    everything = {'configure': '.*', 'write': '.*', 'read': '.*'}
    definitions = {
        'vhosts': [{'name': host} for host in hosts],
        'users': [{'name': 'guest', 'password': 'guest', 'tags': 'administrator'}],
        'permissions': [{'user': 'guest', 'vhost': host, **everything} for host in hosts],
    }
    file = broker.folder / 'definitions.json'
    file.write_text(json.dumps(definitions))
    broker.configure(f'load_definitions = {file}\n')
