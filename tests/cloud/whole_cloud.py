"""A whole cloud: Senlin with the plugin, workers, and every service that they call."""

from pathlib import Path

from typing_extensions import override

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.errors import NoWorkerAnswered
from tests.broker import Broker
from tests.cloud import computes, installed, layout, virtual_hosts
from tests.cloud.program import RestartableProgram
from tests.cloud.senlin_api import SERVER, Senlin
from tests.cloud.senlin_programs import ETC, SenlinPrograms
from tests.integration import mariadb, seeding
from tests.integration.deployment import Deployment
from tests.integration.proxy import Proxy
from tests.waiting import wait_for

START_S = 300
PROBE_S = 5
WORKERS = ('worker1', 'worker2')


class WholeCloud(Deployment):
    """Two regions with computes, a worker, and Senlin."""

    def __init__(self) -> None:
        """Start the broker and the services without waiting for them."""
        self.broker = Broker()
        virtual_hosts.define(self.broker, layout.VIRTUAL_HOSTS)
        self.broker.launch()
        super().__init__(layout.whole_cloud(self.broker))
        self.folder = self.processes.folder
        self.cordon_file = self.folder / 'cordons.yaml'
        self.cordon_file.write_text('[]')
        self.workers_url = f'{self.broker.url}placement'
        self.octavia = Proxy(self.services['octavia'].url)
        self.agents = {
            name: self._agent(region, binary, name)
            for region in layout.COMPUTES
            for name, binary in self._agents_of(region).items()
        }
        self.senlin_programs = SenlinPrograms(self.processes, self.broker.url)
        self.workers = {name: self._worker(name) for name in WORKERS}
        url = self.senlin_programs.url
        self.senlin = Senlin(url, self.session('demo'))
        self.senlin_admin = Senlin(url, self.session('admin'))

    @override
    def fill(self) -> None:
        self.broker.wait_until_ready()
        wait_for(mariadb.socket_in(self.folder).exists, START_S)
        self.senlin_programs.create_database()
        in_catalog = {**self.services, 'octavia': self.octavia}
        seeding.fill_keystone(self.connect('admin'), in_catalog, self.layout)
        self.senlin_programs.start()
        self.start_worker('worker1')
        self._start_agents()
        seeding.fill_neutron(self.connect('admin'))
        self.connect('admin').image.create_image(
            name=SERVER['image'],
            data=b'nothing boots it',
            disk_format='raw',
            container_format='bare',
            visibility='public',
        )
        for region, zones in layout.COMPUTES.items():
            computes.add_to_zones(self.connect('admin', region), self.nova(region), zones)
        self.senlin_programs.wait_until_ready(self.senlin_admin)
        self.wait_for_worker('worker1')

    @override
    def close(self) -> None:
        self.senlin_programs.close()
        for program in [*self.workers.values(), *self.agents.values()]:
            program.kill()
        self.octavia.close()
        super().close()
        self.broker.close()

    def servers(self, region: str = 'RegionOne') -> set[str]:
        """Return the ids of the servers in a region."""
        compute = self.connect('demo', region).compute
        return {server.id for server in compute.servers(details=False)}

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

    def decision_logs(self) -> list[Path]:
        """Return the decision log of each worker that has one."""
        return sorted(self.folder.glob('*.decisions'))

    def run_only(self, *names: str) -> None:
        """Start some workers, unless they run; kill the others when they respond."""
        for name in names:
            self.start_worker(name)
            self.wait_for_worker(name)
        for other in self.workers.keys() - set(names):
            self.workers[other].kill()

    @property
    def decides(self) -> bool:
        """Whether the engines have the plugin and a worker runs."""
        runs = any(worker.runs for worker in self.workers.values())
        return self.senlin_programs.has_plugin and runs

    def start_worker(self, name: str) -> None:
        """Start a worker without waiting for it, if it does not run."""
        self.workers[name].start()

    def wait_for_worker(self, name: str) -> None:
        """Return when a worker responds."""
        client = PolicyClient(self.workers_url, server=name, timeout_s=PROBE_S)

        def responds() -> bool:
            try:
                client.get_capabilities()
            except NoWorkerAnswered:
                return False
            return True

        wait_for(responds, START_S)
        client.close()

    def _start_agents(self) -> None:
        """Start conductors, schedulers and computes when the tables exist."""
        for region in layout.COMPUTES:
            self.nova(region).requests()
        for agent in self.agents.values():
            agent.start()

    def _agents_of(self, region: str) -> dict[str, str]:
        """Return the program of each agent of a Nova by its name."""
        nova = self.nova(region).name
        names = {f'{nova}-{part}': f'nova-{part}' for part in ('conductor', 'scheduler')}
        return {**names, **dict.fromkeys(layout.COMPUTES[region], 'nova-compute')}

    def _agent(self, region: str, binary: str, name: str) -> RestartableProgram:
        (self.folder / name).mkdir()
        own = self._configure(ETC / 'agent.conf', name)
        nova = self.folder / 'etc' / f'{self.nova(region).name}.conf'
        program = self.processes.environment / 'bin' / binary
        arguments = [program, '--config-file', nova, '--config-file', own]
        return RestartableProgram(self.folder, name, arguments)

    def _worker(self, name: str) -> RestartableProgram:
        own = self._configure(
            ETC / 'worker.conf',
            name,
            transport_url=self.workers_url,
            cordon_file=self.cordon_file,
            credentials=self.processes.credentials(self.layout.trustee),
        )
        arguments = [installed.program('placement-worker'), '--config-file', own]
        return RestartableProgram(self.folder, name, arguments)

    def _configure(self, template: Path, name: str, **variables: object) -> Path:
        file = self.folder / 'etc' / f'{name}.conf'
        file.write_text(self.processes.template(template, name=name, **variables))
        return file
