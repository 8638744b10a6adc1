"""The evaluation of measurements by the benchmarks."""

import itertools
import json
import logging
import os
import subprocess
import sys

import pytest

from benchmarks import pairing, processes, results
from benchmarks.counts.count import Count, verdict
from benchmarks.senlin import checks
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.handlers.request_log import RequestLog
from placement_worker.policies.registry import Registry
from tests.factories import request, zone_policy
from tests.waiting import wait_for

CHECKED = (
    '2026-11-23 00:47:18.849 20366 INFO placement_worker.engines.senlin.checks [None req-1] '
    'CLUSTER_SCALE_OUT {} {} of cluster c1: OK in {} ms: Completed policy checking.'
)


@pytest.mark.parametrize(
    ('count', 'message'),
    [
        (Count('frames', 2), ''),
        (Count('frames', 1), ''),
        (Count('frames', 3), 'is more than 2'),
        (Count('instructions', 109, tolerance=0.1), ''),
        (Count('instructions', 111, tolerance=0.1), 'is more than 110'),
        (Count('requests', 0), 'is not written down'),
    ],
)
def test_verdict_accepts_a_count_within_its_tolerance(count, message):
    """A count beyond the recorded value and its tolerance fails."""
    assert verdict(count, {'frames': 2, 'instructions': 100}) == message


def test_interleaved_contenders_take_turns_and_each_begins_a_round():
    """A slow phase of the machine affects all contenders alike."""
    ran = []
    contenders = {name: lambda name=name: ran.append(name) or len(ran) for name in 'abc'}

    found = pairing.interleaved(contenders, 3)

    assert ''.join(ran) == 'abcbcacab'
    assert found == {'a': [1, 6, 8], 'b': [2, 4, 9], 'c': [3, 5, 7]}


def test_ratio_is_the_median_of_the_rounds():
    """One disturbed round does not change the ratio."""
    spread = pairing.ratio([1.0, 2.0, 30.0, 4.0, 5.0], [1.0, 2.0, 3.0, 4.0, 5.0])

    assert (spread.low, spread.mid, spread.high) == (1.0, 1.0, 1.0)


def test_text_of_results_is_a_table_of_restructuredtext():
    """Results can be copied into the manual."""
    table = results.Table(
        'Echo', [{'nodes': 3, 'p50 ms': 1.23456}, {'nodes': 10_000, 'p50 ms': None}], 'By hand.'
    )

    assert results.text(table).splitlines() == [
        'Echo',
        '----',
        'By hand.',
        '',
        '=====  ======',
        'nodes  p50 ms',
        '=====  ======',
        '    3    1.23',
        '10000       -',
        '=====  ======',
    ]


def test_verdict_of_several_runs_compares_their_median_with_the_limit():
    """One disturbed run misses no bar; a median beyond its limit does."""
    runs = [
        [results.Bar('a plan', plan, 3.0), results.Bar('a check', 1.2, 1.1)]
        for plan in (2.0, 9.0, 2.5)
    ]

    table, all_met = results.verdict(runs)

    assert not all_met
    assert table.rows == [
        {
            'bar': 'a plan',
            'at most': '3.00',
            'median': '2.50',
            'runs': '2.00 to 9.00',
            'met': 'yes',
        },
        {
            'bar': 'a check',
            'at most': '1.10',
            'median': '1.20',
            'runs': '1.20 to 1.20',
            'met': 'NO',
        },
    ]


def decided(action, data):
    """Return a line of a decision log."""
    return json.dumps({'request': {'action': {'id': action}}, 'reply': {'action': {'data': data}}})


def test_checks_of_an_action_before_and_after_it_are_added():
    """The figure of an action contains both checks, and no other lines count."""
    lines = [CHECKED.format('a1', 'BEFORE', 30), 'other', CHECKED.format('a1', 'AFTER', 12)]

    assert checks.in_engine([*lines, CHECKED.format('a2', 'BEFORE', 7)]) == {'a1': 42, 'a2': 7}


def test_checks_in_the_log_of_a_worker_are_found(caplog):
    """The time that a worker needs is read from the line that it logs about a check."""
    caplog.set_level(logging.INFO)
    cloud = Inventory.parse({'zones': {'a': True}}, 'the test')
    worker = Endpoints(cloud, Registry.installed(), RequestLog(), clock=itertools.count().__next__)
    worker.policy_check(request('CLUSTER_SCALE_OUT', [zone_policy('a')]))

    (taken,) = checks.in_worker(['other', f'INFO {caplog.messages[-1]}'])

    assert taken >= 1000


def test_zones_of_decisions_are_found_by_action():
    """A decision without new nodes counts too, with no zone."""
    placed = {'placement': {'placements': [{'zone': 'az1'}, {'zone': 'az2'}]}}

    assert checks.recorded([decided('a1', placed), decided('a2', {})]) == {
        'a1': ['az1', 'az2'],
        'a2': [],
    }


def test_second_decision_on_an_action_is_an_error():
    """A request that two workers handled would make the figures wrong."""
    with pytest.raises(AssertionError, match=r'^action a1 has two decisions'):
        checks.recorded([decided('a1', {})] * 2)


def test_lines_of_growing_files_are_those_since_the_start(tmp_path):
    """A measurement reads the lines of its own time, also of a file that did not exist before."""
    old, new = tmp_path / 'old', tmp_path / 'new'
    old.write_text('before\n')
    growing = checks.GrowingFiles([old, new])
    with old.open('a') as file:
        file.write('after\n')
    new.write_text('first\n')

    assert list(growing.lines()) == ['after', 'first']


def test_descendants_are_processes_of_children_too():
    """The CPU time of a cloud contains that of programs that its programs have started."""
    command = [sys.executable, '-c', 'import subprocess; subprocess.run(["cat"])']
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        wait_for(lambda: 'cat ' in map(processes.command, processes.descendants(os.getpid())))
        found = processes.descendants(os.getpid())

    assert child.pid in found
    assert processes.command(child.pid) == ''
