"""The programs of Heat, of the environment that runs the tests."""

import sys
from pathlib import Path

from keystoneauth1.exceptions import ConnectFailure, HttpServerError
from openstack.connection import Connection

from placement_worker.engines.heat import plugin
from tests.cloud import installed
from tests.cloud.program import RestartableProgram
from tests.heat.heat_api import Heat
from tests.heat.layout import HEAT
from tests.integration import seeding
from tests.integration.service_processes import Processes
from tests.ports import free_ports
from tests.waiting import wait_for

HERE = Path(__file__).parent
ENGINES = ('engine1', 'engine2')
API = 'heat-api'
DOMAIN, DOMAIN_ADMIN = 'heat', 'heat_domain_admin'


class HeatPrograms:
    """The API, and two engines."""

    def __init__(self, processes: Processes, broker_url: str) -> None:
        """Write the configuration.

        :param broker_url: the URL of the broker, to which virtual hosts are appended.
        """
        self._processes, self._broker_url = processes, broker_url
        (self._port,) = free_ports(1)
        self.url = f'http://127.0.0.1:{self._port}/v1'
        self.api = self._api()
        self.engines = {name: self._engine(name) for name in ENGINES}

    def create_database(self) -> None:
        installed.run('heat-manage', '--config-file', self._file('engine1'), 'db_sync')

    def add_users(self, admin: Connection) -> None:
        """Create the domain of the users who may send signals."""
        identity = admin.identity
        domain = identity.create_domain(name=DOMAIN)
        user = identity.create_user(
            name=DOMAIN_ADMIN, password=seeding.PASSWORD, domain_id=domain.id
        )
        role = identity.find_role('admin', ignore_missing=False)
        identity.assign_domain_role_to_user(domain, user, role)
        identity.create_role(name='heat_stack_user')

    def start(self) -> None:
        """Start all programs without waiting for them."""
        for program in [self.api, *self.engines.values()]:
            program.start()

    def close(self) -> None:
        for program in [self.api, *self.engines.values()]:
            program.kill()

    def wait_until_ready(self, heat: Heat) -> None:
        """Return when the API responds and each engine has reported to the database."""

        def is_ready() -> bool:
            try:
                services = heat.get('/services')['services']
            except (ConnectFailure, HttpServerError):
                return False
            return {one['host'] for one in services if one['status'] == 'up'} == set(ENGINES)

        wait_for(is_ready)

    def _engine(self, name: str) -> RestartableProgram:
        arguments = [installed.program('heat-engine'), '--config-file', self._configure(name)]
        return RestartableProgram(self._processes.folder, name, arguments)

    def _api(self) -> RestartableProgram:
        arguments = [sys.executable, HERE / 'serve_api.py', self._port, self._configure(API)]
        return RestartableProgram(self._processes.folder, API, arguments)

    def _file(self, name: str) -> Path:
        return self._processes.folder / 'etc' / f'{name}.conf'

    def _configure(self, name: str) -> Path:
        credentials = self._processes.credentials(HEAT)
        lines = credentials.splitlines()
        keystone_url = self._processes.services['keystone'].url
        text = self._processes.template(
            HERE / 'etc' / 'heat.conf',
            name=name,
            prefix=sys.prefix,
            transport_url=self._broker_url + HEAT,
            workers_url=f'{self._broker_url}placement',
            plugin_dirs=plugin.__path__[0],
            url=f'http://127.0.0.1:{self._port}',
            keystone_url=keystone_url,
            database=self._processes.database(HEAT),
            credentials=credentials,
            trustee='\n'.join(line for line in lines if not line.startswith('project')),
        )
        self._file(name).write_text(text)
        return self._file(name)
