"""The conformance tables, decided in process, by the command line and by replay."""

import json
import sys

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd.cli import PlacementPolicy
from placement_worker.decisions import replay
from placement_worker.decisions.records import DecisionLog, LogFile, LogReader
from placement_worker.handlers.service import Endpoints, WorkerSettings
from tests.conformance.conformance import CASES, compared


def test_cases_have_known_keys_only():
    """There are 497 cases, and every key of a case is compared."""
    assert len({case['id'] for case in CASES}) == 497
    assert {key for case in CASES for key in case['expect']} == {
        'status',
        'reason',
        'creation',
        'deletion',
        'placements_of',
        'outcomes',
    }


@pytest.mark.parametrize('case', CASES, ids=lambda case: case['id'])
def test_policy_check_of_each_case_gives_the_expected_reply(case, registry):
    """The endpoints decide each case as expected."""
    endpoints = Endpoints(Inventory.parse(case['cloud'], 'case'), registry)

    assert compared(endpoints.policy_check(case['request']), case['expect']) == case['expect']


def test_check_command_of_all_cases_gives_the_expected_replies(tmp_path, capsys):
    """The command line decides all cases as expected."""
    lines = tmp_path / 'lines'
    lines.write_text(
        '\n'.join(
            json.dumps({'request': case['request'], 'cloud': case['cloud']}) for case in CASES
        )
    )

    app = PlacementPolicy()
    app.stdout = sys.stdout
    app.run(['check', '--lines', str(lines)])

    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [
        compared(answer, case['expect']) for answer, case in zip(answers, CASES, strict=True)
    ] == [case['expect'] for case in CASES]


def test_replay_of_all_cases_gives_the_same_replies(tmp_path, registry):
    """Each recorded case is replayed with the same bytes."""
    log = tmp_path / 'decisions.jsonl'
    recorder = DecisionLog(LogFile(str(log)).append, None, {})
    for case in CASES:
        Endpoints(
            Inventory.parse(case['cloud'], 'case'), registry, WorkerSettings(recorder=recorder)
        ).policy_check(case['request'])

    found = [
        (number, replay.differences(entry, registry))
        for number, entry in LogReader(str(log)).entries()
    ]

    assert found == [(number, []) for number in range(1, len(CASES) + 1)]
