"""The programs of Heat, of the environment that runs the tests, and its REST API."""

import sys
from pathlib import Path
from typing import Any

import requests
from keystoneauth1.exceptions import ConnectFailure, HttpServerError
from keystoneauth1.session import Session
from typing_extensions import override

from placement_worker.engines.heat import plugin
from tests.cloud import programs
from tests.cloud.compute_cloud import ComputeCloud
from tests.cloud.programs import EnginePrograms, RestartableProgram
from tests.integration import seeding
from tests.ports import free_ports
from tests.waiting import wait_for

HERE = Path(__file__).parent
HEAT = 'heat'
ENGINES = ('engine1', 'engine2')
API, CFN = APIS = ('heat-api', 'heat-api-cfn')
RESPONSE_S = 60
DOMAIN, DOMAIN_ADMIN = 'heat', 'heat_domain_admin'


class Heat:
    """The API for one user."""

    def __init__(self, url: str, session: Session) -> None:
        self._url, self._session = url, session

    def get(self, path: str) -> Any:
        return self.request('GET', path).json()

    def request(self, method: str, path: str, **body: Any) -> Any:
        url = f'{self._url}/{self._session.get_project_id()}{path}'
        return self._session.request(url, method, json=body or None)


class HeatPrograms(EnginePrograms):
    """The APIs for users and for alarms, and two engines."""

    def __init__(self, cloud: ComputeCloud) -> None:
        self._cloud, self._processes = cloud, cloud.processes
        self._ports = dict(zip(APIS, free_ports(len(APIS)), strict=True))
        self.url = f'{self._origin(API)}/v1'
        self.services = [self._api(name) for name in APIS]
        self.engines = {name: self._engine(name) for name in ENGINES}

    @override
    def create_database(self) -> None:
        programs.run('heat-manage', '--config-file', self._file('engine1'), 'db_sync')

    @override
    def start(self) -> None:
        """Create the domain of the users who may send signals, and start the programs."""
        identity = self._cloud.connect('admin').identity
        domain = identity.create_domain(name=DOMAIN)
        user = identity.create_user(
            name=DOMAIN_ADMIN, password=seeding.PASSWORD, domain_id=domain.id
        )
        role = identity.find_role('admin', ignore_missing=False)
        identity.assign_domain_role_to_user(domain, user, role)
        identity.create_role(name='heat_stack_user')
        super().start()

    @override
    def wait_until_ready(self) -> None:
        """Return when the APIs respond and each engine has reported to the database."""
        heat = Heat(self.url, self._cloud.session('admin'))

        def is_ready() -> bool:
            try:
                services = heat.get('/services')['services']
                requests.get(self._origin(CFN), timeout=RESPONSE_S)
            except (ConnectFailure, HttpServerError, requests.ConnectionError):
                return False
            up = {service['host'] for service in services if service['status'] == 'up'}
            return up == set(ENGINES)

        wait_for(is_ready)

    def _engine(self, name: str) -> RestartableProgram:
        arguments = [programs.installed('heat-engine'), '--config-file', self._configure(name)]
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
        text = self._processes.template(
            HERE / 'etc' / 'heat.conf',
            name=name,
            prefix=sys.prefix,
            transport_url=self._cloud.broker.url + HEAT,
            workers_url=self._cloud.workers_url,
            plugin_dirs=plugin.__path__[0],
            cfn_url=self._origin(CFN),
            keystone_url=self._cloud.services['keystone'].url,
            database=self._processes.database(HEAT),
            credentials=credentials,
            trustee='\n'.join(line for line in lines if not line.startswith('project')),
        )
        self._file(name).write_text(text)
        return self._file(name)
