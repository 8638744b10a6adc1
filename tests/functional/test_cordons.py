"""A running worker follows its cordon file, and exports its cordons."""

from contextlib import closing

import pytest

from tests.factories import request, zone_policy
from tests.functional.conftest import run
from tests.functional.test_metrics import Scraped
from tests.ports import free_ports
from tests.waiting import wait_for

UNTIL = '2999-01-01T00:00:00Z'


@pytest.fixture
def file(tmp_path):
    file = tmp_path / 'cordons.yaml'
    file.write_text('[]')
    return file


def zones(client, checks=16):
    """Return the zones of new nodes in several decisions, which both processes take."""
    asked = request('CLUSTER_SCALE_OUT', [zone_policy('a', 'b')], inputs={'count': 2})
    data = [client.policy_check(asked).action.data for _ in range(checks)]
    return {zone for decided in data for zone in decided['creation']['zones']}


def edit(file, *arguments):
    run('placement-policy', 'cordon', *arguments, '--cordon-file', file).check_returncode()


def test_running_worker_follows_its_cordon_file(start_worker, file):
    """Each process decides with the last valid state of the file; the metrics show both."""
    (port,) = free_ports(1)
    settings = f'[placement]\ncordon_file = {file}\n[metrics]\nport = {port}'
    worker = start_worker(settings, workers=2)
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
