"""The table of doc/source/privileges.csv: default policies, and the requests of a worker."""

import csv
import json
import re
import subprocess
import uuid
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import pytest

from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.errors import InvalidSpec
from tests.factories import region_policy, zone_policy
from tests.integration import environment, trusts
from tests.integration.checks import ZONES_ONE, decided, refused, scale_out, sent
from tests.integration.clusters import Cluster, lb_policy, succeeded
from tests.integration.service import Request

PAGE = Path(__file__).parents[2] / 'doc' / 'source' / 'privileges.csv'
# The service by the first part of a rule's name.
SERVICES = {
    'identity': 'keystone',
    'os_compute_api': 'nova',
    'get_network': 'neutron',
    'get_subnet': 'neutron',
    'os_load-balancer_api': 'octavia',
}
SCRIPT = Path(__file__).parent / 'services' / 'policy_roles.py'
# The roles of the tables; each one implies those before it.
ROLES = ['any', 'reader', 'member', 'admin']
# The requests for the versions of an API, which need no role.
VERSIONS = {'GET /v3'}


@dataclass(frozen=True)
class Row:
    """A request of a worker.

    :ivar rules: the rules that the service checks; empty for a login.
    :ivar role: the least role that all of them accept.
    """

    method: str
    path: str
    rules: tuple[str, ...]
    role: str

    @property
    def service(self):
        return SERVICES[self.rules[0].partition(':')[0]]

    def matches(self, request):
        """Return whether this is the row of a request, such as `GET /v3/regions`."""
        method, target = request.split(' ', 1)
        path, _, query = target.partition('?')
        wanted, _, parameter = self.path.partition('?')
        return (
            method == self.method
            and re.fullmatch(wanted.replace('ID', '[^/]+'), path) is not None
            and ('all_tenants=1' in query) == bool(parameter)
        )


def rows():
    with PAGE.open(encoding='utf-8', newline='') as file:
        table = list(csv.reader(file))[1:]
    for _, *cells in table:
        line, rules, role, _ = (' '.join(cell.replace('``', '').split()) for cell in cells)
        method, _, path = line.partition(' ')
        yield Row(method, path, tuple(rules.split(', ')) if rules else (), role)


TABLE = list(rows())


@pytest.fixture(scope='module')
def accepted():
    """Return the roles that default policies accept: rule -> role -> whether it may."""
    python = environment.prepare() / 'bin' / 'python'
    ruled = sorted((row for row in TABLE if row.rules), key=attrgetter('service'))
    found: dict[str, dict[str, bool]] = {}
    for service, of_service in groupby(ruled, attrgetter('service')):
        names = sorted({rule for row in of_service for rule in row.rules})
        command = [python, '-W', 'ignore', SCRIPT, service, *names]
        found |= json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return found


@pytest.mark.parametrize(
    'row', [row for row in TABLE if row.rules], ids=lambda row: f'{row.method} {row.path}'
)
def test_role_of_each_request_is_the_least_that_the_default_policy_accepts(row, accepted):
    """The default policy accepts the role of the table and all above it, and none below it."""
    expected = {role: ROLES.index(role) >= ROLES.index(row.role) for role in ROLES}

    assert {rule: accepted[rule] for rule in row.rules} == dict.fromkeys(row.rules, expected)


class Watch:
    """The requests of the worker to all services during a block."""

    def __init__(self, openstack):
        self._services = openstack.services.values()
        self._stack = ExitStack()
        self._seen: list[list[Request]] = []

    def __enter__(self):
        self._seen += [self._stack.enter_context(service.watch()) for service in self._services]
        return self._seen

    def __exit__(self, *error):
        self._stack.close()


def place(openstack, endpoints):
    """Place nodes with a trust that grants nothing but `reader`."""
    policies = [zone_policy(*ZONES_ONE), region_policy('RegionOne', 'RegionTwo')]
    members = trusts.as_nodes(openstack.add_servers(3))
    trust = openstack.make_trust(roles=['reader'])
    for policy in policies:
        decided(endpoints.policy_check(scale_out(openstack, trust, [policy], members)))


def lose_parts(openstack, web):
    """Delete all but the load balancer, as its owner might, and forget that it was attached."""
    octavia, parts = openstack.connect('demo').load_balancer, web.remaining()
    for kind, delete in (
        ('healthmonitors', octavia.delete_health_monitor),
        ('listeners', octavia.delete_listener),
        ('pools', octavia.delete_pool),
    ):
        delete(parts[kind][0].id)
        octavia.wait_for_load_balancer(parts['loadbalancers'][0].id, interval=0.2)
    web.policy = lb_policy()


def look_for_resources(openstack, endpoints):
    """Validate specs with missing resources as the service user, who has nothing but `reader`."""
    missing = str(uuid.uuid4())
    existing = {'loadbalancer': missing, 'pool': {'id': missing, 'subnet': 'private-subnet'}}
    for properties in (
        {**existing, 'health_monitor': {'id': missing}},
        {'flavor_id': missing, 'availability_zone': missing},
    ):
        with pytest.raises(InvalidSpec, match=missing):
            endpoints.policy_validate(
                {'spec': lb_policy(**properties)['spec'], 'check_resources': True}
            )


def list_servers_of_another_project(openstack, endpoints):
    """Ask Nova for them as the service user, whom Nova refuses: it is no administrator."""
    members = trusts.as_nodes(openstack.add_servers(1))
    reason = refused(endpoints.policy_check(scale_out(openstack, None, members=members)))
    assert reason.startswith('Compute service refused the request: HTTP 403')
    assert 'check that the roles' in reason


def balance(openstack, endpoints):
    """Attach, add, remove and detach with a trust that grants nothing but `member`."""
    web = Cluster(openstack, endpoints, f'cluster-{uuid.uuid4()}', 2)
    web.credentials = {'trust_id': openstack.make_trust(roles=['member'])}
    web.policy = lb_policy()
    succeeded(web.attach())
    lose_parts(openstack, web)
    succeeded(web.attach())
    succeeded(web.added(web.grow(2)))
    web.shrink(1)
    web.end()


def test_worker_with_the_least_roles_sends_only_the_requests_of_the_tables(
    openstack, make_endpoints
):
    """With the roles of the tables, a worker places and balances, and sends no other request."""
    with Watch(openstack) as watched:
        place(openstack, make_endpoints())
        balance(openstack, make_endpoints())
        look_for_resources(openstack, make_endpoints())
        list_servers_of_another_project(openstack, make_endpoints(allow_service_credentials=True))
        single = OctaviaSettings(poll_initial_s=0.1, poll_max_s=1, batch_members=False)
        balance(openstack, make_endpoints(octavia_settings=lambda: single))

    requests = {request for seen in watched for request in sent(seen)}
    unlisted = {
        request for request in requests - VERSIONS if not any(row.matches(request) for row in TABLE)
    }
    unused = [row for row in TABLE if not any(row.matches(request) for request in requests)]
    assert (unlisted, unused) == (set(), [])
