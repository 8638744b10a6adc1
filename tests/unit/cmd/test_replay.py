"""placement-policy replay."""

import json

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.decisions.records import DecisionLog
from placement_worker.handlers.endpoints import Endpoints
from tests import hostile_requests
from tests.factories import request, zone_policy


@pytest.fixture
def line(registry):
    """A decision as the log holds it."""
    lines = []
    cloud = Inventory.parse({'zones': {'a': True, 'b': True}}, 'test')
    asked = request('CLUSTER_SCALE_OUT', [zone_policy('a', 'b')], inputs={'count': 3})
    Endpoints(cloud, registry, recorder=DecisionLog(lines.append)).policy_check(asked, 'req-1')
    return lines[0].decode()


def test_a_log_whose_decisions_are_the_same_is_status_0(program, line):
    status, out, err = program('replay', 'log', log=line * 2)

    assert (status, err) == (0, '')
    assert out.startswith('2 decisions replayed with ')
    assert out.endswith(': all the same\n')


def test_a_difference_is_shown_with_line_request_and_path_and_is_status_1(program, line):
    status, out, err = program('replay', 'log', log=line + line.replace('"a":2', '"a":9'))

    assert (status, err) == (1, '')
    told = out.splitlines()
    assert told[0].startswith('log, line 2: CLUSTER_SCALE_OUT, request req-1, decided 20')
    assert told[1:4] == ['  $.action.data.creation.zones.a', '    - 9', '    + 2']
    assert told[-1].endswith(': 1 differs')


def test_scripts_get_a_line_of_json_a_difference(program, line):
    _, out, _ = program('replay', 'log', '-f', 'jsonl', log=line.replace('"a":2', '"a":9'))

    (told,) = map(json.loads, out.splitlines())
    assert (told['line'], told['request_id']) == ('log, line 1', 'req-1')
    assert (told['at'], told['was'], told['now']) == ('$.action.data.creation.zones.a', 9, 2)


def test_a_long_value_is_cut(program, line):
    longer = line.replace('3 nodes go to 2 zones', 'x' * 1000)

    _, out, _ = program('replay', 'log', log=longer)

    assert f'    - "{"x" * 99}...\n' in out


def test_a_torn_line_is_named_and_left_out_and_is_status_2(program, line):
    status, out, err = program(
        'replay', 'log', log=line[:100] + '\n' + line.replace('"a":2', '"a":9') + line
    )

    assert status == 2
    assert err.startswith('placement-policy replay: log, line 1: Expected JSON - at `$`: ')
    assert err.endswith('; skipped the line\n')
    assert out.splitlines()[-1].startswith('2 decisions replayed')


def test_a_file_that_is_no_log_is_told_after_a_few_lines_and_nothing_is_called_the_same(program):
    status, out, err = program('replay', 'log', log='hello\n' * 9)

    assert status == 2
    assert out.endswith(': nothing to compare\n')
    assert len(err.splitlines()) == 6
    assert err.splitlines()[-1] == (
        'placement-policy replay: Skipped 4 more lines; check that the file is a decision log'
    )


def test_a_log_that_is_not_there_is_one_line(program):
    status, out, err = program('replay', 'none')

    assert (status, out) == (2, '')
    assert err.startswith('placement-policy replay: none: No such file or directory')
    assert err.count('\n') == 1


def test_a_file_that_is_no_compressed_log_is_one_line(program):
    status, _, err = program('replay', 'log.gz', **{'log.gz': 'text'})

    assert status == 2
    assert err.startswith('placement-policy replay: log.gz cannot be decompressed: ')
    assert err.count('\n') == 1


@pytest.mark.parametrize('form', ['table', 'jsonl'])
def test_replay_with_hostile_text_in_a_log_shows_it_escaped(program, line, form):
    """A decision log that an attacker's requests are in is safe to look at."""
    evil = json.dumps(hostile_requests.TEXT)[1:-1]
    altered = line.replace('CLUSTER_SCALE_OUT', evil).replace('3 nodes go to 2 zones', evil)

    status, out, err = program('replay', 'log', '-f', form, log=altered)

    assert (status, err, hostile_requests.raw(out)) == (1, '', [])
    assert 'evil' in out
