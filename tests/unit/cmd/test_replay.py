"""placement-policy replay."""

import gzip
import json

import pytest
import yaml

from tests import hostile_requests
from tests.factories import request, zone_policy


@pytest.fixture
def line(recorded):
    """Return one line of a decision log."""
    return recorded(request('CLUSTER_SCALE_OUT', [zone_policy('a', 'b')], inputs={'count': 3}))


def test_replay_without_differences_exits_with_0(program, line):
    """Equal decisions are counted, and the exit status is 0."""
    status, out, err = program('replay', 'log', log=line * 2)

    assert (status, err) == (0, '')
    assert out.startswith('2 decisions replayed with ')
    assert out.endswith(': all the same\n')


def test_replay_with_a_difference_shows_line_request_and_path(program, line):
    """A difference is shown with its line, request and path, and the exit status is 1."""
    status, out, err = program('replay', 'log', log=line + line.replace('"a":2', '"a":9'))

    assert (status, err) == (1, '')
    lines = out.splitlines()
    assert lines[0].startswith('log, line 2: CLUSTER_SCALE_OUT, request req-1, decided 20')
    assert lines[1:4] == ['  $.action.data.creation.zones.a', '    - 9', '    + 2']
    assert lines[-1].endswith(': 1 different reply')


def test_replay_of_a_record_with_packages_names_them_with_their_versions(program, line):
    """A difference may come from another version of a plugin's package."""
    recorded = json.loads(line.replace('"a":2', '"a":9'))
    log = json.dumps({**recorded, 'packages': ['acme-rails 1.0']}) + '\n'

    _, out, _ = program('replay', 'log', log=log)
    _, data, _ = program('replay', 'log', '-f', 'jsonl', log=log)

    assert out.splitlines()[0].endswith(f' by {recorded["version"]}, acme-rails 1.0')
    (found,) = map(json.loads, data.splitlines())
    assert found['packages'] == ['acme-rails 1.0']
    assert (found['line'], found['request_id']) == ('log, line 1', 'req-1')
    assert (found['at'], found['was'], found['now']) == ('$.action.data.creation.zones.a', 9, 2)


def test_replay_with_a_long_value_truncates_it(program, line):
    """A long value is truncated in the table."""
    longer = line.replace('3 nodes go to 2 zones', 'x' * 1000)

    _, out, _ = program('replay', 'log', log=longer)

    assert f'    - "{"x" * 99}...\n' in out


def test_replay_with_an_invalid_line_skips_it_and_exits_with_2(program, line):
    """An invalid line is reported and skipped, and the exit status is 2."""
    status, out, err = program(
        'replay', 'log', log=line[:100] + '\n' + line.replace('"a":2', '"a":9') + line
    )

    assert status == 2
    assert err.startswith('placement-policy replay: log, line 1: Expected JSON - at `$`: ')
    assert err.endswith('; skipped the line\n')
    assert out.splitlines()[-1].startswith('2 decisions replayed')


@pytest.mark.parametrize(
    ('number', 'last'),
    [
        (5, 'log, line 5: Expected JSON - at `$`: '),
        (6, 'Skipped 1 more line; check that the file is a decision log'),
        (9, 'Skipped 4 more lines; check that the file is a decision log'),
    ],
)
def test_replay_of_another_file_reports_a_few_lines_only(program, number, last):
    """A file without any valid line causes a few messages and no claim of equality."""
    status, out, err = program('replay', 'log', log='hello\n' * number)

    lines = err.splitlines()
    assert (status, len(lines)) == (2, min(number, 6))
    assert out.endswith(': nothing to compare\n')
    assert lines[-1].startswith(f'placement-policy replay: {last}')


def test_replay_of_a_compressed_log_with_another_name_reads_it(program, line, tmp_path):
    """A compressed log need not end in .gz."""
    (tmp_path / 'log.1').write_bytes(gzip.compress(line.encode()))

    status, out, err = program('replay', 'log.1')

    assert (status, err) == (0, '')
    assert out.startswith('1 decision replayed with ')


@pytest.mark.parametrize('form', ['table', 'jsonl'])
def test_replay_with_hostile_text_in_a_log_shows_it_escaped(program, line, form):
    """A decision log with requests of an attacker cannot control the terminal."""
    evil = json.dumps(hostile_requests.TEXT)[1:-1]
    altered = line.replace('CLUSTER_SCALE_OUT', evil).replace('3 nodes go to 2 zones', evil)

    status, out, err = program('replay', 'log', '-f', form, log=altered)

    assert (status, err, hostile_requests.raw(out)) == (1, '', [])
    assert 'evil' in out


def test_replay_with_a_request_id_prints_a_file_for_check_and_rebalance(program, line):
    """The request of a decision is printed as YAML that `check` and `rebalance` read."""
    other = line.replace('req-1', 'req-2')
    status, out, err = program('replay', '--request', 'req-1', 'log', log=other + line)

    assert (status, err) == (0, '')
    assert out.startswith('# log, line 2: CLUSTER_SCALE_OUT, request req-1, decided 20')
    assert out.count('---\n') == 1
    printed = yaml.safe_load(out)
    assert printed['dry_run'] is True
    assert 'expires_at' not in printed
    cloud = '{zones: {a: true, b: true}}'
    for command in ('check', 'rebalance'):
        status, _, err = program(
            command, '--cloud', 'cloud', 'file.yaml', **{'file.yaml': out, 'cloud': cloud}
        )
        assert (status, err) == (0, '')


def test_replay_with_an_unknown_request_id_exits_with_1(program, line):
    """An id that no request has is reported, also if another text of the log has it."""
    status, out, err = program('replay', '--request', 'CLUSTER_SCALE_OUT', 'log', log=line)

    assert (status, out) == (1, '')
    assert err.startswith('placement-policy replay: No request CLUSTER_SCALE_OUT in the logs; ')


def test_replay_with_a_request_id_on_an_invalid_line_exits_with_2(program, line):
    """An invalid line with the id is reported, since it may be the request."""
    status, out, err = program('replay', '--request', 'req-1', 'log', log=line[:-9] + '\n')

    assert (status, out) == (2, '')
    assert err.startswith('placement-policy replay: log, line 1: Expected JSON')
