"""The output of replies."""

import io

import msgspec
import pytest

from placement_worker.cmd import output
from placement_worker.cmd.cli import PlacementPolicy
from placement_worker.cmd.output import Paint
from placement_worker.contract.model import ActionPatch, CheckReply, CheckRequest, Decision
from tests.factories import connected, deletion_policy, request
from tests.simulated_octavia import DESCRIPTION, Lab
from tests.unit.cmd.inputs import FILES


def test_table_of_rows_with_different_keys_has_a_column_per_key():
    """A table has a column per key; missing values are dashes, and numbers are aligned right."""
    drawn = output.table([{'name': 'a', 'size': 1}, {'name': 'b', 'cap': -1, 'usable': True}])

    assert drawn.splitlines() == [
        '+------+------+-----+--------+',
        '| name | size | cap | usable |',
        '+------+------+-----+--------+',
        '| a    | 1    | -   | -      |',
        '| b    | -    | -   | yes    |',
        '+------+------+-----+--------+',
    ]


def test_check_of_a_deletion_hides_usable_in_plans_alone():
    """A policy of another package may have a table with a column of the same name."""
    details = {'zones': [{'name': 'a', 'usable': True}], 'racks': [{'rack': 'r', 'usable': True}]}
    decision = Decision('p', None, 'test-1.0', 1, 'APPLIED', 'Done', 0, details)
    data = {'status': 'OK', 'reason': 'Done', 'deletion': {'count': 1}}
    asked = msgspec.convert(request('CLUSTER_SCALE_IN', []), CheckRequest)
    reply = CheckReply(
        action=ActionPatch('act-1', data), cluster=None, nodes={}, decisions=[decision]
    )

    lines = output.check_lines(reply, asked, Paint(on=False))

    assert '    | name |' in lines
    assert '    | rack | usable |' in lines


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ('arguments', 'colored'),
    [
        (['check', 'good'], '\x1b[32mOK\x1b[0m'),
        (['plan', 'good'], '\x1b[31m- az1'),
        (['attach', 'bind'], '\x1b[32mOK\x1b[0m'),
        (['simulate', 'capped-regions'], '\x1b[31mERROR\x1b[0m'),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else '',
)
def test_command_on_a_terminal_is_colored(program, monkeypatch, arguments, colored):
    """Output has colors on a terminal only."""
    monkeypatch.setenv('TERM', 'xterm')
    monkeypatch.delenv('NO_COLOR', raising=False)
    app = PlacementPolicy()
    app.stdout = Terminal()

    assert '\x1b' not in program(*arguments, **FILES)[1]
    app.run(arguments)
    assert colored in app.stdout.getvalue()


@pytest.mark.parametrize(
    ('stream', 'environ', 'colored'),
    [
        (Terminal(), {'TERM': 'xterm', 'NO_COLOR': ''}, True),
        (Terminal(), {'TERM': 'xterm', 'NO_COLOR': '1'}, False),
        (Terminal(), {'TERM': 'dumb'}, False),
        (io.StringIO(), {'TERM': 'xterm'}, False),
    ],
)
def test_paint_of_a_stream_is_on_for_capable_terminals_only(stream, environ, colored):
    """Colors are on for a capable terminal without NO_COLOR."""
    assert (Paint.of(stream, environ)('x', 'red') != 'x') is colored


LEAVES, STAYS = ('loadbalance-1.4', ['n1']), ('loadbalance-1.4', [])


@pytest.mark.parametrize(
    ('deletion', 'decision', 'seconds'),
    [
        ({'grace_period': 60}, LEAVES, 60),
        ({'grace_period': 60}, STAYS, 0),
        ({'grace_period': 60}, ('deletion-1.1', ['n1']), 0),
        ({'grace_period': 'long'}, LEAVES, 0),
        ({'grace_period': -5}, LEAVES, 0),
        ('soon', LEAVES, 0),
        ({}, LEAVES, 0),
        (None, LEAVES, 0),
    ],
)
def test_wait_is_the_grace_period_if_members_leave(deletion, decision, seconds):
    """Without members that leave there is nothing to drain, so there is no wait to show."""
    name, removed = decision
    details, kind = {'removed': removed}, f'senlin.policy.{name}'
    decided = Decision('p', None, kind, 500, 'APPLIED', 'r', 1.0, details)

    assert output.drain_wait_s({'deletion': deletion}, [decided]) == seconds


@pytest.mark.parametrize(('command', 'line'), [('check', '    wait: '), ('plan', 'Wait: ')])
def test_tables_of_check_and_plan_show_the_wait(program, tmp_path, command, line):
    """Both commands say when the nodes are deleted."""
    lab, state = Lab(), tmp_path / 'state.json'
    policy, members = lab.attached([connected(n) for n in range(1, 4)], version='1.4')
    asked = request('CLUSTER_SCALE_IN', [deletion_policy(grace_period=60), policy], members)
    with lab.store.changing() as objects:
        state.write_bytes(msgspec.json.encode(objects))
    cloud = {**DESCRIPTION, 'load_balancer': {'state': str(state)}}

    _, out, _ = program(command, '--cloud', 'cloud', 'asked', asked=asked, cloud=cloud)

    assert f'{line}members leave now, nodes are deleted 60 s later' in out.splitlines()
