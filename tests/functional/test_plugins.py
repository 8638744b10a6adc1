"""Tests for policy types of other packages: the example and broken ones."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from placement_worker.contract.model import Package
from placement_worker.errors import PolicyTypeNotFound, WorkerFailed
from tests.factories import nodes, request, zone_policy
from tests.functional.conftest import run

EXAMPLE = Path(__file__).parents[2] / 'examples' / 'policy-plugin'
CLOUD = {'zones': {'a': True, 'b': True}}
STEP_LIMIT = {
    'type': 'example.policy.step_limit', 'version': 1.0, 'properties': {'max_step': 2}
}  # fmt: skip
LIMITED = request(
    'CLUSTER_SCALE_OUT',
    [zone_policy('a', 'b'), {'id': 'p1', 'spec': STEP_LIMIT}],
    nodes(a=1),
    inputs={'count': 50},
)


@pytest.fixture(scope='module')
def plugins(tmp_path_factory):
    """A folder with the example installed in it, and with a package of broken policy types."""
    source, folder = (tmp_path_factory.mktemp(name) / 'plugins' for name in ('source', 'target'))
    shutil.copytree(EXAMPLE, source)
    install = [sys.executable, '-m', 'pip', 'install', '-q', '--no-deps', '--target', folder]
    subprocess.run([*install, source], check=True, capture_output=True)
    (folder / 'broken.py').write_text(BROKEN_PY)
    for name, entry_points in ENTRY_POINTS.items():
        described = folder / f'{name}-1.0.dist-info'
        described.mkdir()
        metadata = f'Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n'
        (described / 'METADATA').write_text(metadata)
        (described / 'entry_points.txt').write_text(f'[placement_worker.policies]\n{entry_points}')
    return folder


@pytest.fixture(scope='module')
def worker(plugins, start_worker):
    return start_worker(environment={'PYTHONPATH': str(plugins)})


@pytest.fixture
def check(plugins, tmp_path):
    """Check requests on the command line, one per line."""

    def checking(*options, requests):
        (tmp_path / 'f').write_text('\n'.join(map(json.dumps, requests)))
        (tmp_path / 'cloud').write_text(json.dumps(CLOUD))
        environment = {**os.environ, 'PYTHONPATH': str(plugins)}
        typed = ('check', *options, '--cloud', 'cloud', 'f')
        return run('placement-policy', *typed, cwd=tmp_path, env=environment)

    return checking


ENTRY_POINTS = {
    'broken': """
broken.import-1.0 = no_such_module:X
broken.check-1.0 = broken:Raising
broken.twin-1.0 = broken:Raising
""",
    'twin': 'broken.twin-1.0 = no_such_module:X',
}
BROKEN_PY = """
from msgspec import Struct
from placement_worker.policies.base import BEFORE, Policy, on

class Nothing(Struct, frozen=True): pass

class Raising(Policy):
    interface = (2, 0)
    name = 'broken.check'
    versions = {'1.0': Nothing}
    priority = 1
    targets = on(BEFORE, 'CLUSTER_SCALE_OUT')

    def check(self, request, state):
        return 1 / 0
"""
FAULTY = request(
    'CLUSTER_SCALE_OUT', [{'id': 'p', 'spec': {'type': 'broken.check', 'version': '1.0'}}]
)
BROKEN = (
    'Skipped policy type broken.import-1.0 from package broken: no_such_module:X cannot be loaded: '
    "ModuleNotFoundError: No module named 'no_such_module'",
    'Skipped policy type broken.twin-1.0 from packages broken and twin: several packages provide '
    'it with different classes; uninstall all but one',
)


def test_example_plugin_works_and_a_broken_one_is_named_on_the_command_line(check):
    """The command line uses the example plugin and names a broken one on standard error."""
    done = check('-f', 'json', requests=[LIMITED])

    assert sorted(done.stderr.splitlines()) == sorted(BROKEN)
    reply = json.loads(done.stdout)
    reasons = [decision['reason'] for decision in reply['decisions']]
    assert reasons == ['2 instead of 50 nodes', '2 nodes go to 2 zones']
    assert reply['action']['data']['creation'] == {'count': 2, 'zones': {'a': 1, 'b': 1}}


def test_worker_logs_the_packages_of_types_and_serves_those_that_are_not_broken(worker):
    """An operator sees broken plugins, and which workers have the new version of a package."""
    log = worker.log.read_text()
    loaded = 'Policy types of placement-worker-step-limit 1.0: example.policy.step_limit-1.0'
    for message in (*BROKEN, loaded):
        assert message in log
    with closing(worker.client()) as client:
        assert client.policy_check(LIMITED).action.data['creation']['count'] == 2
        package = client.policy_type_get('example.policy.step_limit-1.0').package
        assert package == Package('placement-worker-step-limit', '1.0')


def test_failing_policy_is_reported_and_the_next_line_is_decided(check):
    """An unexpected error of a policy is reported for its line, and the next line is decided."""
    done = check('--lines', requests=[FAULTY, LIMITED])

    first, second = map(json.loads, done.stdout.splitlines())
    assert done.returncode == 2
    failure = 'policy_check failed: ZeroDivisionError: division by zero'
    assert first['error']['type'] == 'WorkerFailed'
    assert first['error']['message'].startswith(failure)
    assert second['action']['data']['status'] == 'OK'


def test_failing_policy_in_a_worker_is_reported_without_a_traceback(worker):
    """The caller gets the error of a policy with its package, and the log has the traceback."""
    with closing(worker.client()) as client, pytest.raises(WorkerFailed) as failed:
        client.policy_check(FAULTY)

    assert str(failed.value) == (
        'policy_check failed in the worker: ZeroDivisionError: division by zero (in '
        'broken.check-1.0, a plugin of broken)'
    )
    assert 'in broken.check-1.0, a plugin of broken' in worker.log.read_text()


def test_request_for_a_type_that_cannot_be_imported_names_package_and_error(worker):
    """The engine learns which package provides a type, and why the worker could not import it."""
    spec = {'type': 'broken.import', 'version': '1.0'}

    with closing(worker.client()) as client, pytest.raises(PolicyTypeNotFound) as no:
        client.policy_check(request('CLUSTER_SCALE_OUT', [{'id': 'p', 'spec': spec}]))

    assert str(no.value) == (
        'Policy type `broken.import-1.0` from package broken was skipped: no_such_module:X cannot '
        "be loaded: ModuleNotFoundError: No module named 'no_such_module' - at "
        '`$.policies[0].spec`'
    )
