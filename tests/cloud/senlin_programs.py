"""The programs of Senlin 16, of the environment that runs the tests."""

import sys
from collections.abc import Set
from pathlib import Path

import oslo_messaging
from keystoneauth1.exceptions import ConnectFailure, HttpServerError
from oslo_config import cfg
from typing_extensions import override

from tests.cloud import programs
from tests.cloud.compute_cloud import ComputeCloud
from tests.cloud.databases import Json, SenlinDatabase
from tests.cloud.layout import SENLIN
from tests.cloud.programs import EnginePrograms, RestartableProgram
from tests.cloud.senlin_api import Senlin
from tests.ports import free_ports
from tests.waiting import wait_for

ETC = Path(__file__).parent / 'etc'
ENGINES = ('engine1', 'engine2')
SERVICES = ('api', 'conductor', 'health-manager')
PROBE_S = 5


class SenlinPrograms(EnginePrograms):
    """The API, a conductor, a health manager and engines."""

    def __init__(self, cloud: ComputeCloud, name: str) -> None:
        """Write the configuration.

        :param name: of the database and the virtual host, by which programs and files begin.
        """
        self._processes, self._folder, self._name = cloud.processes, cloud.folder, name
        self._url, self._workers_url = cloud.broker.url + name, cloud.workers_url
        self.database = SenlinDatabase(self._folder, name)
        (self._port,) = free_ports(1)
        self.url = f'http://127.0.0.1:{self._port}/v1'
        self.senlin, self._admin = (
            Senlin(self.url, cloud.session(user), self.database) for user in ('demo', 'admin')
        )
        self._file = self._folder / 'etc' / f'{name}.conf'
        self.configure(with_plugin=True)
        self.services = [
            self._program(f'senlin-{service}', f'{name}-{service}') for service in SERVICES
        ]
        self.engines = {engine: self._engine(f'{name}-{engine}') for engine in ENGINES}

    def configure(self, with_plugin: bool) -> None:
        """Write the configuration, which the next start of a program reads."""
        plugin = self._processes.template(ETC / 'plugin.conf', transport_url=self._workers_url)
        text = self._processes.template(
            ETC / 'senlin.conf',
            transport_url=self._url,
            database=self._processes.database(self._name),
            credentials=self._processes.credentials(SENLIN),
            auth_url=f'{self._processes.services["keystone"].url}/v3',
            port=self._port,
            paste=Path(sys.prefix, 'etc', 'senlin', 'api-paste.ini'),
            plugin=plugin if with_plugin else '',
        )
        self._file.write_text(text)
        self.has_plugin = with_plugin

    @override
    def create_database(self) -> None:
        programs.run('senlin-manage', '--config-file', self._file, 'db_sync')

    @override
    def wait_until_ready(self) -> None:
        # Senlin never repeats the message that starts an action; an engine that was not listening
        # yet does not start it later.
        wait_for(self._responds)
        wait_for(lambda: len(self._listening()) == len(ENGINES))
        # creates the user's trust, of which concurrent first requests would create several
        self.senlin.get('clusters')

    def restart_engines(self, with_plugin: bool) -> None:
        """Kill the engines, and start them with or without the plugin.

        Actions that the killed engines carried out end as failed.
        """
        killed = {service['id'] for service in self._registered()}
        self.configure(with_plugin)
        for engine in self.engines.values():
            engine.kill()
        self.database.expire_engines()
        for engine in self.engines.values():
            engine.start()
        wait_for(lambda: len(self._listening(killed)) == len(ENGINES))

    def _listening(self, killed: Set[str] = frozenset()) -> set[str]:
        """Return the engines that respond.

        :param killed: services that Senlin lists as up for a minute; they are not asked, because
            each would delay the others by `PROBE_S`.
        """
        asked = [service for service in self._registered() if service['id'] not in killed]
        return {service['id'] for service in asked if self._listens(service)}

    def _registered(self) -> list[Json]:
        return list(self._admin.get('services')['services'])

    def _responds(self) -> bool:
        try:
            self._registered()
        except (ConnectFailure, HttpServerError):
            return False
        return True

    def _listens(self, service: Json) -> bool:
        if service['binary'] != 'senlin-engine' or service['state'] != 'up':
            return False
        # oslo.messaging reads options of tracing that are registered in this object alone
        cfg.CONF([], default_config_files=[], default_config_dirs=[])
        transport = oslo_messaging.get_rpc_transport(cfg.CONF, self._url)
        target = oslo_messaging.Target(
            exchange='senlin', topic='senlin-engine', server=service['id'], version='1.0'
        )
        client = oslo_messaging.get_rpc_client(transport, target, timeout=PROBE_S)
        try:
            return bool(client.call({}, 'listening'))
        except oslo_messaging.MessagingTimeout:
            return False
        finally:
            transport.cleanup()

    def _engine(self, name: str) -> RestartableProgram:
        own = self._folder / 'etc' / f'{name}.conf'
        own.write_text(self._processes.template(ETC / 'agent.conf', name=name))
        return self._program('senlin-engine', name, '--config-file', own)

    def _program(self, program: str, name: str, *more: object) -> RestartableProgram:
        log = self._folder / f'{name}.log'
        options = ['--config-file', self._file, *more, '--log-file', log]
        return RestartableProgram(self._folder, name, [programs.installed(program), *options])
