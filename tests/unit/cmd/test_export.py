"""The command `placement-policy export`, over canned responses of Senlin, Heat and Nova."""

import json
import socket
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import openstack
import pytest
import requests
import yaml
from keystoneauth1.exceptions import ConnectFailure

from placement_worker.cmd import export as export_command
from tests.factories import zone_policy

SECRET = 'hunter2'
TIME = '2026-11-27T10:00:00Z'


def profile(zone):
    """Return a profile with a password and user data."""
    properties = {'admin_pass': SECRET, 'user_data': SECRET, 'availability_zone': zone}
    spec = {'type': 'os.nova.server', 'version': 1.0, 'properties': properties}
    return {'type': 'os.nova.server-1.0', 'created_at': TIME, 'spec': spec, 'metadata': SECRET}


def node(name, **more):
    return {
        'id': name, 'name': name, 'index': 1, 'status': 'ACTIVE', 'status_reason': 'Created',
        'tainted': False, 'physical_id': None, 'profile_id': 'p1', 'created_at': TIME,
        'updated_at': TIME, 'data': None, 'metadata': {'password': SECRET}, 'details': {}, **more,
    }  # fmt: skip


def bound(name, **more):
    return {'policy_id': name, 'enabled': True, 'data': None, 'priority': 300, 'id': 'b', **more}


CLUSTER = {
    'id': 'c1', 'name': 'web', 'user': 'u1', 'project': 'pr1', 'min_size': 0, 'max_size': 9,
    'desired_capacity': 2, 'profile_id': 'p1', 'data': {}, 'nodes': ['n1'], 'status': 'ACTIVE',
    'created_at': TIME, 'metadata': {'password': SECRET}, 'config': {'password': SECRET},
}  # fmt: skip
PLACED = {'placement': {'zone': 'a'}}
NODES = [
    node('n1', data=PLACED, metadata={'protected': 'true', 'password': SECRET}),
    node('n2', status='ERROR', profile_id='p2'),
]
SPEC = zone_policy('a', 'b')['spec']
MEMBERS = {
    'm1': {'type': 'OS::Nova::Server', 'properties': {'availability_zone': 'a', 'pw': SECRET}},
    'm2': {'type': 'OS::Nova::Server'},
}
FUNCTION = {'get_param': 'x'}
PLACEMENT = {'zones': [{'name': 'a', 'weight': 1}, {'name': 'b', 'weight': 1}]}


def row(name, status):
    return {
        'resource_name': name, 'resource_status': status, 'resource_status_reason': 'No valid host',
        'creation_time': TIME, 'updated_time': TIME,
    }  # fmt: skip


def stack(name):
    parameters = {'OS::project_id': 'pr1', 'password': SECRET}
    return {'stack': {'stack_name': name, 'id': f'{name}-id', 'parameters': parameters}}


def template(**placement):
    group = {'type': 'OS::Heat::AutoScalingGroup', 'properties': {'placement': placement}}
    return {'resources': {'group': group}}


RESPONSES = {
    '/clusters/web': {'cluster': CLUSTER},
    '/nodes?cluster_id=c1': {'nodes': NODES},
    '/clusters/c1/policies': {'cluster_policies': [bound('zones'), bound('affinity')]},
    '/policies/zones': {
        'policy': {'id': 'z', 'name': 'spread', 'type': f'{SPEC["type"]}-1.0', 'spec': SPEC}
    },
    '/policies/affinity': {
        'policy': {'id': 'x', 'name': 'apart', 'type': 'senlin.policy.affinity-1.0', 'spec': {}}
    },
    '/profiles/p1': {'profile': {'id': 'p1', **profile(None)}},
    '/profiles/p2': {'profile': {'id': 'p2', **profile('b')}},
    '/stacks/web': stack('web'),
    '/stacks/web/web-id/resources/group': {'resource': {'physical_resource_id': 'nested'}},
    '/stacks/nested': stack('nested'),
    '/stacks/nested/nested-id/template': {'resources': MEMBERS},
    '/stacks/nested/nested-id/resources': {
        'resources': [row('m1', 'CREATE_COMPLETE'), row('m2', 'CREATE_FAILED')]
    },
    '/stacks/web/web-id/template': template(**PLACEMENT),
    '/os-availability-zone': {
        'availabilityZoneInfo': [
            {'zoneName': zone, 'zoneState': {'available': zone != 'c'}} for zone in 'abc'
        ]
    },
}  # fmt: skip


@pytest.fixture
def export(program, monkeypatch):
    """Return a function that exports from a cloud with RESPONSES, and changed ones."""

    def run(*arguments, **changed):
        def get(path, headers):
            response = requests.Response()
            # Only a newer Senlin returns `tainted`, to those that ask for its version.
            is_complete = headers or not path.startswith(('/clusters', '/nodes'))
            body = is_complete and {**RESPONSES, **changed}.get(path)
            response.status_code = 200 if body else 404
            response._content = json.dumps(body).encode()
            return response

        service = SimpleNamespace(get=get)
        config = SimpleNamespace(get_region_name=lambda: 'R1')
        cloud = SimpleNamespace(
            clustering=service,
            orchestration=service,
            compute=service,
            config=config,
            session=SimpleNamespace(timeout=None),
            close=lambda: None,
        )
        monkeypatch.setattr(openstack, 'connect', lambda cloud=None: clouds[cloud])
        clouds = {None: cloud, 'prod': cloud}
        return program('export', *arguments)

    return run


def test_export_of_a_senlin_cluster_has_what_the_plugin_sends(export):
    """The file has the cluster, its nodes and its policies, and none of their other properties."""
    status, out, err = export('--senlin', 'web', '--os-cloud', 'prod', '--change', '-2')

    request = yaml.safe_load(out)
    cluster = request['cluster']
    one, two = cluster['nodes']
    assert (status, err, SECRET in out) == (0, '', False)
    assert (request['action']['action'], request['action']['inputs']) == (
        'CLUSTER_SCALE_IN', {'count': 2},
    )  # fmt: skip
    assert (cluster['id'], cluster['max_size'], cluster['profile']['id']) == ('c1', 9, 'p1')
    assert (one['data'], one['metadata']) == (PLACED, {'protected': 'true'})
    assert {'status_reason', 'updated_at', 'profile'}.isdisjoint(one)
    assert 'metadata' not in two
    assert two['profile']['properties']['availability_zone'] == 'b'
    assert (two['status'], two['status_reason']) == ('ERROR', 'Created')
    (binding,) = request['policies']
    assert (binding['name'], binding['spec'], binding['priority']) == ('spread', SPEC, 300)
    assert '# Left out: policy apart, which runs in Senlin\n' in out


@pytest.mark.parametrize(
    ('stated', 'criteria', 'notes'),
    [
        (template(**PLACEMENT), 'OLDEST_FIRST', (False, False)),
        (template(zones=FUNCTION, deletion={'criteria': 'RANDOM'}), 'RANDOM', (True, False)),
        (template(**PLACEMENT, deletion=FUNCTION), 'OLDEST_FIRST', (False, True)),
        ({'Resources': {}}, 'OLDEST_FIRST', (True, False)),
    ],
    ids=['stated', 'a function for zones', 'a function for the deletion', 'none'],
)
def test_export_of_a_heat_group_has_its_members_and_placement(export, stated, criteria, notes):
    """Without literals in the template, the file has the zones of Nova and the default deletion."""
    changed = {'/stacks/web/web-id/template': stated}

    status, out, err = export('--heat', 'web', 'group', **changed)

    request = yaml.safe_load(out)
    one, two = request['cluster']['nodes']
    placement, deletion = (policy['spec']['properties'] for policy in request['policies'])
    assert (status, err, SECRET in out) == (0, '', False)
    assert request['action']['inputs'] == {'count': 1}
    assert (one['id'], one['status'], one['data']) == ('m1', 'ACTIVE', PLACED)
    assert (two['status'], two['status_reason']) == ('ERROR', 'No valid host')
    assert [zone['name'] for zone in placement['zones']] == ['a', 'b']
    assert deletion == {'criteria': criteria}
    assert ('these are all zones' in out, 'no deletion without functions' in out) == notes


@pytest.mark.parametrize('arguments', [('--senlin', 'web'), ('--heat', 'web', 'group')])
def test_plan_of_an_export_needs_no_edits(export, program, arguments):
    """The file is a request, which the written zones suffice to plan."""
    _, out, _ = export(*arguments, '--write-cloud', 'cloud.yaml')

    status, plan, err = program('plan', 'f', '--cloud', 'cloud.yaml', f=out)

    assert yaml.safe_load(Path('cloud.yaml').read_text()) == {
        'zones': {'a': True, 'b': True, 'c': False}, 'regions': ['R1'],
    }  # fmt: skip
    assert (status, err) == (2, '')
    assert 'Plan: 1 node to create' in plan


def test_export_from_a_cloud_that_is_away_names_the_cause(program, monkeypatch):
    """A cloud that does not respond ends the command with one line and status 2."""
    away = Mock(side_effect=ConnectFailure('Unable to establish connection to http://cloud/'))
    monkeypatch.setattr(openstack, 'connect', away)

    status, out, err = program('export', '--senlin', 'web')

    assert (status, out, err.count('\n')) == (2, '', 1)
    assert 'Unable to establish connection' in err
    assert '--os-cloud and clouds.yaml' in err


@pytest.mark.parametrize(
    ('changed', 'cause'),
    [
        (
            {'/stacks/web/web-id/resources/group': {'resource': {'physical_resource_id': ''}}},
            'group of stack web has no members yet, or is no group',
        ),
        ({'/stacks/web': {'links': []}}, "Unexpected response of the cloud: KeyError('stack')"),
        ({'/stacks/web': [1]}, 'Unexpected response of the cloud: TypeError('),
        ({'/stacks/web': None}, '404'),
    ],
)
def test_export_of_what_is_no_group_names_the_cause(export, changed, cause):
    """An unknown name and a response of another service end with one line."""
    status, out, err = export('--heat', 'web', 'group', **changed)

    assert (status, out, err.count('\n')) == (2, '', 1)
    assert cause in err


@pytest.mark.filterwarnings('ignore:Support for InfluxDB')
def test_export_from_a_silent_cloud_ends(program, monkeypatch):
    """A cloud that accepts connections and sends nothing does not block the command for ever."""
    monkeypatch.setattr(export_command, 'TIMEOUT_S', 0.1)
    with socket.create_server(('127.0.0.1', 0)) as silent:
        url = f'http://127.0.0.1:{silent.getsockname()[1]}/v3'
        settings = {'AUTH_URL': url, 'USERNAME': 'u', 'PASSWORD': 'p', 'PROJECT_NAME': 'p'}
        for name, value in settings.items():
            monkeypatch.setenv(f'OS_{name}', value)

        status, out, err = program('export', '--senlin', 'web')

    assert (status, out) == (2, '')
    assert 'timed out' in err
