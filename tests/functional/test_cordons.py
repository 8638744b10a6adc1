"""A running worker follows its cordon file, and exports its cordons."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.factories import request, zone_policy
from tests.functional.test_metrics import Scraped
from tests.ports import free_ports
from tests.waiting import wait_for

CLOUD = {'zones': {'a': True, 'b': True}}
UNTIL = '2999-01-01T00:00:00Z'


@pytest.fixture
def file(tmp_path):
    """The cordon file of the worker."""
    file = tmp_path / 'cordons.yaml'
    file.write_text('[]')
    return file


def zones(client, checks=16):
    """Return the zones of new nodes in several decisions, which both processes take."""
    asked = request('CLUSTER_SCALE_OUT', [zone_policy('a', 'b')], inputs={'count': 2})
    data = [client.policy_check(asked).action.data for _ in range(checks)]
    return {zone for one in data for zone in one['creation']['zones']}


def edit(file, *arguments):
    """Run a command of an operator on the file."""
    command = [sys.executable, '-m', 'placement_worker', 'cordon', *arguments]
    subprocess.run([*command, '--cordon-file', str(file)], check=True, capture_output=True)


def test_running_worker_follows_its_cordon_file(start_worker, file):
    """Each process decides with the file as it is, and keeps the last valid state of a damaged
    one; the metrics show both.
    """
    (port,) = free_ports(1)
    settings = f'[placement]\ncordon_file = {file}\n[metrics]\nport = {port}'
    worker = start_worker(CLOUD, settings, workers=2)
    scraped = Scraped(worker, port)

    with closing(worker.client()) as client:
        assert zones(client) == {'a', 'b'}
        edit(file, 'add', '--zone', 'a', '--until', UNTIL, '--evacuate')
        assert zones(client) == {'b'}
        assert scraped.value('active_cordons') == 1
        assert scraped.value('cordon_end_timestamp_seconds', zone='a', evacuate='true') > 3e10

        file.write_text('- zone: b\n')
        assert zones(client) == {'b'}
        assert scraped.value('cordon_file_valid') == 0
        wait_for(lambda: '`$[0]` (line 1, column 3)' in worker.log.read_text())

        file.write_text('[]')
        assert zones(client) == {'a', 'b'}
        assert scraped.value('cordon_file_valid') == 1
        assert scraped.value('cordon_end_timestamp_seconds') is None


def test_all_processes_keep_the_cordons_that_one_of_them_read_last(start_worker, file):
    """A damaged file leads all processes of a worker to the same decisions."""
    worker = start_worker(CLOUD, f'[placement]\ncordon_file = {file}', workers=2)

    with closing(worker.client()) as client:
        assert zones(client) == {'a', 'b'}
        edit(file, 'add', '--zone', 'a', '--until', UNTIL)
        assert zones(client, checks=1) == {'b'}

        file.write_text('- zone: b\n')

        assert zones(client) == {'b'}


def test_worker_with_an_invalid_cordon_file_does_not_start(tmp_path, broker_url, file):
    """An operator sees at once that the cordons would have no effect."""
    file.write_text('- zone: a\n')
    (tmp_path / 'cloud').write_text('zones: {a: true}')
    (tmp_path / 'c').write_text(
        f'[DEFAULT]\ntransport_url = {broker_url}\n[placement]\ncordon_file = {file}\n'
        f'[cloud]\nbackend = inventory\ninventory_file = {tmp_path}/cloud\n'
    )

    program = Path(sys.executable).with_name('placement-worker')

    ended = subprocess.run(
        [program, '--config-file', tmp_path / 'c'], capture_output=True, text=True, check=False
    )

    assert ended.returncode == 2
    assert '[placement] cordon_file: Invalid cordon file: ' in ended.stderr
    assert '(line 1, column 3)' in ended.stderr
