"""The commands `placement-policy validate`, `type list` and `type show`."""

import csv
import datetime
import itertools
import json
from pathlib import Path
from unittest.mock import Mock

import pytest
import yaml

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd import remote, types
from placement_worker.contract.model import Capabilities, Package
from placement_worker.errors import InvalidSpec, NoWorkerAnswered, Rejected, WorkerFailed
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies import plugin_checks
from placement_worker.policies.registry import Registry
from tests.factories import region_policy, zone_policy
from tests.unit.policies.good_policy import Good

ROOT = Path(__file__).parents[3]
BROKEN = type('Broken', (Good,), {'interface': (2, 0), 'name': 'acme.broken', 'priority': 'high'})
GOOD_SPEC = 'type: test.good\nversion: 1.0'
SCHEMA = '; run "placement-policy type show NAME-VERSION" for the schema'


@pytest.mark.parametrize(
    'path', sorted((ROOT / 'conf' / 'policies').glob('*.yaml')), ids=lambda path: path.name
)
def test_validate_of_each_sample_spec_prints_a_valid_spec(run, path):
    """Each sample spec is valid, and so is the printed spec with defaults."""
    status, out, err = run('validate', str(path))
    again, out_again, _ = run('validate', 'f', f=out)

    assert (status, again, err) == (0, 0, '')
    assert out_again == out


def test_sample_specs_cover_every_policy_type(registry):
    """Each policy type has a sample spec, except two older versions of load balancing."""
    paths = (ROOT / 'conf' / 'policies').glob('*.yaml')
    specs = [yaml.safe_load(path.read_text()) for path in paths]

    older = {'senlin.policy.loadbalance-1.0', 'senlin.policy.loadbalance-1.2'}
    assert {f'{spec["type"]}-{spec["version"]}' for spec in specs} | older == set(registry.types)


def test_validate_with_an_invalid_spec_checks_the_others(run):
    """An invalid spec is reported with its path and stops no other spec."""
    text = yaml.safe_dump_all(
        [zone_policy(('a', 0))['spec'], region_policy('R1')['spec'], {'type': 'x', 'vrsion': 1}]
    )

    status, out, err = run('validate', 'f', f=text)

    assert status == 2
    regions = [{'name': 'R1', 'weight': 100, 'cap': -1}]
    assert yaml.safe_load(out)['properties'] == {'regions': regions}
    assert [line for line in err.splitlines() if ' | ' not in line] == [
        'placement-policy validate: f:4:13: Expected `int` >= 1, got `0` - at '
        f'`$.properties.zones[0].weight`{SCHEMA}',
        'placement-policy validate: f: 2 errors; correct the file and try again',
        'f:14:1: Object missing required field `version` - at `$`',
        'f:15:1: Unknown key `vrsion` (did you mean `version`?) - at `$`',
    ]


@pytest.mark.parametrize('error', [Rejected('Not here'), InvalidSpec('Not here')])
def test_validate_with_check_resources_names_the_file_of_a_refusal_without_a_path(
    run, monkeypatch, error
):
    """With several files, the user learns which spec a plugin refuses, and goes on with others."""
    refuse = Mock(side_effect=error)
    refusing = type('Refusing', (Good,), {'interface': (2, 0), 'check_resources': refuse})
    refusing.__module__ = __name__
    found = [*Registry.installed().types.items(), ('test.good-1.0', refusing)]
    monkeypatch.setattr(plugin_checks, 'installed', lambda: found)
    files = {'f': GOOD_SPEC, 'g': yaml.safe_dump(zone_policy('a')['spec'])}

    arguments = ('--check-resources', '--cloud', 'cloud.yaml')
    status, out, err = run('validate', 'f', 'g', *arguments, **files)

    text = f'f, document 1: Not here (in test.good-1.0, a plugin of {__name__})'
    assert (status, 'zone_placement' in out) == (2, True)
    assert err.startswith(f'placement-policy validate: {text}')


def test_type_show_of_a_broken_plugin_says_what_to_do(run, monkeypatch):
    """The reason to skip a type is shown with a hint about its package, not about other types."""
    monkeypatch.setattr(plugin_checks, 'installed', lambda: [('acme.broken-1.0', BROKEN)])

    status, out, err = run('type', 'show', 'acme.broken-1.0')

    assert (status, out) == (2, '')
    assert err.endswith(
        'placement-policy type show: Policy type `acme.broken-1.0` was skipped: an attribute '
        'of its class has a wrong type: Expected `int`, got `str` - at `$.priority`; correct '
        'the cause, and restart the workers\n'
    )


@pytest.mark.parametrize('command', [('list',), ('show', 'senlin.policy.deletion-1.1')])
def test_type_of_a_server_asks_that_worker(run, monkeypatch, command):
    """The option --server selects one worker by its host."""
    client = Mock(return_value=InProcessCaller(Inventory(), Registry.installed()))
    monkeypatch.setattr(remote, 'client', client)

    status, _, _ = run('type', *command, '--transport', 'rabbit://x/', '--server', 'host1')

    client.assert_called_once()
    assert client.call_args.args[0].server == 'host1'
    assert status == 0


def test_type_list_has_a_row_per_type_and_with_long_a_row_per_version(run):
    """A table names the versions and their statuses; --long and JSON describe each version."""
    _, table, _ = run('type', 'list')
    _, long, _ = run('type', 'list', '--long', '-f', 'csv', '--sort-column', 'priority')
    _, data, _ = run('type', 'list', '-f', 'json')

    assert table.splitlines()[3:5] == [
        '| senlin.policy.deletion         | 1.0      | SUPPORTED since 2016.04 |',
        '|                                | 1.1      | SUPPORTED since 2018.01 |',
    ]
    assert max(map(len, table.splitlines())) <= 80
    rows = list(csv.DictReader(long.splitlines()))
    assert rows[-1]['name'] == 'senlin.policy.loadbalance-1.4'
    assert rows[-6]['triggers'].startswith('BEFORE CLUSTER_DEL_NODES, ')
    assert (rows[0]['priority'], rows[0]['package']) == ('200', '-')
    triggers = {one['name']: one['triggers'][0] for one in json.loads(data)}
    first = {'phase': 'BEFORE', 'action': 'CLUSTER_DEL_NODES'}
    assert triggers['senlin.policy.deletion-1.1'] == first


def test_type_of_a_plugin_names_its_package_and_version(run, monkeypatch):
    """An operator sees which release of a package is loaded."""
    registry = Registry([('test.good-1.0', Good)])
    registry.packages = {'test.good-1.0': Package('acme-rails', '1.1')}
    monkeypatch.setattr(Registry, 'installed', lambda: registry)

    assert '| acme-rails 1.1 ' in run('type', 'list', '--long')[1]
    text = run('type', 'show', 'test.good-1.0')[1]
    assert "package:\n  name: acme-rails\n  version: '1.1'\n" in text


def test_type_show_of_a_version_prints_its_schema_and_support_status(run):
    """The description of a type has the statuses of each version, with the releases of Senlin."""
    _, data, _ = run('type', 'show', 'senlin.policy.zone_placement-1.0', '-f', 'json')
    _, text, _ = run('type', 'show', 'senlin.policy.zone_placement-1.0')

    described = json.loads(data)
    assert yaml.safe_load(text) == described
    assert described['schema']['$defs']['Zone']['required'] == ['name']
    assert described['support_status']['1.1'] == [{'status': 'SUPPORTED', 'since': '2026.11'}]


def test_type_show_without_a_version_prints_the_newest_one(run, monkeypatch):
    """A name without a version shows its newest version; 1.10 is newer than 1.9."""
    versions = dict.fromkeys(('1.9', '1.10'), Good.versions['1.0'])
    own = type('Own', (Good,), {'interface': (2, 0), 'name': 'acme.own-type', 'versions': versions})
    registry = Registry([(f'acme.own-type-{version}', own) for version in versions])
    monkeypatch.setattr(Registry, 'installed', lambda: registry)

    status, out, err = run('type', 'show', 'acme.own-type', '-f', 'json')

    assert (status, err) == (0, '')
    assert json.loads(out)['name'] == 'acme.own-type-1.10'


def test_schema_lists_each_message_and_prints_its_shipped_file(run):
    """Each line of the list names a message and says what it is."""
    status, out, err = run('schema')

    titles = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert (status, err, len(titles)) == (0, '', 27)
    assert titles['policy_check.cast_reply'] == 'Reply to a cast of policy_check'
    assert list(titles) == types.message_names()
    assert max(map(len, out.splitlines())) <= 79
    for name, title in titles.items():
        status, schema, err = run('schema', name)
        assert (status, err, schema) == (0, '', types.message_schema(name))
        assert json.loads(schema)['title'] == title


ABOUT = {'host': 'w1', 'hostname': 'h', 'pid': 7, 'version': '1.1'}
STARTED = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
WORKER = Capabilities(policy_types=[], started_at=STARTED, **ABOUT)


def test_ping_of_a_worker_prints_its_identity_and_the_elapsed_time(program, monkeypatch):
    """The reply of the worker on a host names host, process, version and start of the worker."""
    client = Mock()
    client.return_value.get_capabilities.return_value = WORKER
    monkeypatch.setattr(remote, 'client', client)
    ping = ('ping', '--transport', 'rabbit://x/', '--server', 'w1')

    status, out, _ = program(*ping, '-f', 'json')
    _, table, _ = program(*ping)

    reply = json.loads(out)
    assert client.call_args.args[0].server == 'w1'
    assert (status, reply.pop('elapsed_ms') >= 0) == (0, True)
    assert reply == {**ABOUT, 'started_at': '2026-01-02T03:04:05+00:00'}
    assert '| started at | 2026-01-02T03:04:05+00:00 |' in table
    assert 'default: 60\n' in program('ping', '--help')[1], 'a ping waits for no load balancer'


@pytest.mark.parametrize('failure', [NoWorkerAnswered, WorkerFailed])
def test_worker_list_has_the_processes_that_replied_in_spite_of_failed_calls(
    program, monkeypatch, failure
):
    """A timeout or a failure of one process hides no other; without replies, it is the error."""
    caller = Mock()
    monkeypatch.setattr(remote, 'client', Mock(return_value=caller))
    monkeypatch.setattr(remote, '_consumer_count', lambda *_: 1)
    command = ('worker', 'list', '--transport', 'rabbit://x/', '--timeout', '0.1', '-f', 'csv')
    caller.get_capabilities.side_effect = [failure('x'), WORKER]
    listed = program(*command)
    caller.get_capabilities.side_effect = itertools.repeat(failure('It failed'))
    status, out, err = program(*command)

    assert (listed[0], listed[2], '"w1",7,' in listed[1]) == (0, '', True)
    assert (status, out, 'It failed' in err) == (2, '', True)
