"""The programs of Heat, of the environment that runs the tests."""

import sys
from pathlib import Path

import requests
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
API, CFN = APIS = ('heat-api', 'heat-api-cfn')
RESPONSE_S = 60
DOMAIN, DOMAIN_ADMIN = 'heat', 'heat_domain_admin'


class HeatPrograms:
    """The APIs for users and for alarms, and two engines."""

    def __init__(self, processes: Processes, broker_url: str, workers_url: str) -> None:
        """Write the configuration; names of virtual hosts are appended to `broker_url`."""
        self._processes, self._broker_url, self._workers_url = processes, broker_url, workers_url
        self._ports = dict(zip(APIS, free_ports(len(APIS)), strict=True))
        self.url = f'{self._origin(API)}/v1'
        self.apis = [self._api(name) for name in APIS]
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
        for program in [*self.apis, *self.engines.values()]:
            program.start()

    def close(self) -> None:
        for program in [*self.apis, *self.engines.values()]:
            program.kill()

    def wait_until_ready(self, heat: Heat) -> None:
        """Return when the APIs respond and each engine has reported to the database."""

        def is_ready() -> bool:
            try:
                services = heat.get('/services')['services']
                requests.get(self._origin(CFN), timeout=RESPONSE_S)
            except (ConnectFailure, HttpServerError, requests.ConnectionError):
                return False
            return {service['host'] for service in services if service['status'] == 'up'} == set(
                ENGINES
            )

        wait_for(is_ready)

    def _engine(self, name: str) -> RestartableProgram:
        arguments = [installed.program('heat-engine'), '--config-file', self._configure(name)]
        return RestartableProgram(self._processes.folder, name, arguments)

    def _api(self, name: str) -> RestartableProgram:
        port, file = self._ports[name], self._configure(name)
        arguments = [sys.executable, HERE / 'serve_api.py', name, port, file]
        return RestartableProgram(self._processes.folder, name, arguments)

    def _origin(self, api: str) -> str:
        return f'http://127.0.0.1:{self._ports[api]}'

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
            workers_url=self._workers_url,
            plugin_dirs=plugin.__path__[0],
            cfn_url=self._origin(CFN),
            keystone_url=keystone_url,
            database=self._processes.database(HEAT),
            credentials=credentials,
            trustee='\n'.join(line for line in lines if not line.startswith('project')),
        )
        self._file(name).write_text(text)
        return self._file(name)
