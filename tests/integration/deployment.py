"""The services of a test cloud, and sessions of their users."""

from typing import Self

from keystoneauth1.identity import v3
from keystoneauth1.session import Session
from openstack.connection import Connection

from tests.integration import environment, seeding
from tests.integration.layout import NOVAS, Layout
from tests.integration.service import Service
from tests.integration.service_processes import Processes


class Deployment:
    """The processes of a layout."""

    def __init__(self, layout: Layout) -> None:
        """Start the services without waiting for them."""
        self.layout = layout
        self.processes = Processes(environment.prepare(), layout)
        self.services: dict[str, Service] = self.processes.services
        self.auth_url = f'{self.services["keystone"].url}/v3'

    def start(self) -> Self:
        """Wait for the services and create their content."""
        try:
            self.fill()
        except BaseException as error:
            error.add_note(self.processes.output())
            self.close()
            raise
        return self

    def fill(self) -> None:
        """Create the content of the services."""
        raise NotImplementedError

    def close(self) -> None:
        self.processes.close()

    def nova(self, region: str) -> Service:
        """Return the Nova of a region."""
        return self.services[NOVAS[region]]

    def log(self, service: str) -> str:
        """Return the log of a service."""
        return (self.processes.folder / f'{service}.log').read_text()

    def session(self, user: str) -> Session:
        """Return a session of a user in the project of the same name."""
        auth = v3.Password(
            self.auth_url,
            username=user,
            password=seeding.PASSWORD,
            project_name=user,
            user_domain_id='default',
            project_domain_id='default',
        )
        return Session(auth)

    def connect(self, user: str, region: str = 'RegionOne') -> Connection:
        """Return a connection of a user; see `session`."""
        return Connection(session=self.session(user), region_name=region)
