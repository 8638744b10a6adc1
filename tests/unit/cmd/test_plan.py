"""placement-policy plan: what would change, and nothing else."""

import contextlib
import json
import textwrap
from pathlib import Path

import pytest
import yaml

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd import plan_changes
from placement_worker.cmd.cli import PlacementPolicy
from placement_worker.cmd.colors import Paint
from placement_worker.cmd.plan import Plan
from placement_worker.cmd.plan_changes import Changes, PlaceChange, PoolChange
from placement_worker.cmd.plan_diff import shown
from placement_worker.contract import codec
from placement_worker.contract.model import CheckReply, CheckRequest
from placement_worker.handlers.in_process import InProcessCaller
from tests.factories import (
    changed,
    connected,
    deletion_policy,
    node,
    nodes,
    region_policy,
    request,
    zone_policy,
)
from tests.simulated_octavia import Lab

CLOUD = {'zones': {'a': True, 'b': True, 'down': False}, 'regions': ['R1', 'R2']}
GROW = request(
    'CLUSTER_SCALE_OUT', [zone_policy('a', 'b', 'down')], nodes(a=2, b=1), inputs={'count': 3}
)
SHRINK = request(
    'CLUSTER_SCALE_IN',
    [zone_policy('a', 'b'), deletion_policy()],
    nodes(a=2, b=1),
    inputs={'count': 2},
)
FAILING = request('CLUSTER_SCALE_OUT', [zone_policy('gone')])
IDLE = request('CLUSTER_UPDATE', [zone_policy('a')], nodes(a=1))


@pytest.fixture
def plan(program):
    """Plan requests over CLOUD."""

    def planned(*requests, options=()):
        text = yaml.safe_dump_all(requests)
        return program('plan', 'f', '--cloud', 'cloud', *options, f=text, cloud=CLOUD)

    return planned


def test_a_growing_cluster_is_shown_place_by_place(plan):
    status, out, err = plan(GROW)

    assert (status, err) == (2, '')
    assert out.splitlines() == [
        'CLUSTER_SCALE_OUT of cluster web, BEFORE: 3 nodes -> 6',
        '',
        'Zones:',
        '  + a     2 -> 3  +1',
        '  + b     1 -> 3  +2',
        '    down  0 -> 0         unavailable',
        '',
        'Plan: 3 nodes to create. Nothing was done.',
        '',
    ]


def test_a_shrinking_cluster_is_shown_with_its_victims_and_why(plan):
    status, out, _ = plan(SHRINK)

    assert status == 2
    assert out.splitlines() == [
        'CLUSTER_SCALE_IN of cluster web, BEFORE: 3 nodes -> 1',
        '',
        'Zones:',
        '  - a  2 -> 1  -1',
        '  - b  1 -> 0  -1',
        '',
        'To be deleted, in this order:',
        '  - n1  a  oldest  ACTIVE',
        '  - n3  b  oldest  ACTIVE',
        '',
        'Plan: 2 nodes to delete. Nothing was done.',
        '',
    ]


def test_zones_of_regions_and_nodes_in_no_known_place_have_rows_of_their_own(plan):
    members = [node(1, 'a', 'R1'), node(2, 'b', 'R2'), node(3)]
    asked = request(
        'CLUSTER_SCALE_IN',
        [region_policy('R1', 'R2'), zone_policy('a', 'b')],
        members,
        inputs={'count': 2},
    )

    _, out, _ = plan(asked)

    assert '  - (no known place)  1 -> 0  -1' in out
    assert '  - R2/b  1 -> 0  -1' in out


def test_without_placement_policy_the_nodes_places_are_counted(plan):
    asked = request(
        'CLUSTER_DEL_NODES', [deletion_policy()], nodes(a=2, b=1), inputs={'candidates': ['n2']}
    )

    status, out, _ = plan(asked)

    assert status == 2
    assert 'Nodes:\n  - a  2 -> 1  -1\n    b  1 -> 1\n' in out
    assert '  - n2  a  named by the action  ACTIVE\n' in out


def test_the_exit_status_is_0_unchanged_2_changed_1_failed_and_a_failure_counts_most(plan):
    assert [plan(asked)[0] for asked in (IDLE, GROW, FAILING)] == [0, 2, 1]
    assert plan(IDLE, GROW, IDLE)[0] == 2
    assert plan(GROW, FAILING, GROW)[0] == 1


def test_the_manual_shows_what_is_printed(program):
    root = Path(__file__).parents[3]
    manual = (root / 'doc' / 'source' / 'plan.rst').read_text()

    _, out, _ = program('plan', str(root / 'examples' / 'scale-in.yaml'))

    assert textwrap.indent(out.strip(), '    ') in manual


def test_what_nothing_changes_says_so(plan):
    _, out, _ = plan(IDLE)

    assert out.splitlines()[-2] == 'Nothing changes: Completed policy checking.'


def test_a_check_that_fails_shows_its_reason_and_no_changes(plan):
    _, out, _ = plan(FAILING)

    assert out.splitlines() == [
        'CLUSTER_SCALE_OUT of cluster web, BEFORE: ERROR',
        '! No availability zone found available.',
        '',
    ]


def test_what_policies_planned_before_one_failed_is_no_change(plan):
    members = nodes(a=2, b=1)
    asked = request(
        'CLUSTER_RESIZE',
        [zone_policy('a'), deletion_policy()],
        members,
        data={'deletion': {'count': 9}},
    )

    status, out, _ = plan(asked, options=['-f', 'json'])

    assert (status, json.loads(out)['deleted']) == (1, 0)


@pytest.mark.parametrize('form', ['json', 'yaml'])
def test_scripts_get_the_changes_as_data(plan, form):
    _, out, _ = plan(SHRINK, options=['-f', form])

    told = json.loads(out) if form == 'json' else yaml.safe_load(out)
    assert told['deleted'] == 2
    assert told['places']['zones'][0] == {'name': 'a', 'before': 2, 'after': 1, 'note': ''}
    assert told['victims'][0] == {'id': 'n1', 'place': 'a', 'reason': 'oldest', 'status': 'ACTIVE'}


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['plan', 'none.yaml'], 'none.yaml: No such file or directory'),
        (['plan', 'f'], 'f, document 1: Object missing required field `target` - at `$`'),
        (
            ['plan', 'f', '--foo'],
            'unrecognized arguments: --foo; run "placement-policy plan --help" for the usage',
        ),
        (
            ['plan', 'f', '--transport', 'rabbit://127.0.0.1:1/'],
            'No broker answered: 127.0.0.1:1: ',
        ),
    ],
)
def test_whatever_is_wrong_is_told_in_one_line_and_is_status_1_not_2_which_means_changes(
    program, arguments, message
):
    status, out, err = program(
        *arguments, f=changed(GROW, lambda r: r.pop('target')) if len(arguments) < 3 else GROW
    )

    assert (status, out) == (1, '')
    assert err.startswith(f'placement-policy plan: {message}')
    assert err.count('\n') == 1


def test_the_worker_is_asked_to_write_nothing_and_to_explain_all_whatever_the_request_says(
    program, registry
):
    asked = []

    class Listening(InProcessCaller):
        def policy_check(self, request, context=None):
            asked.append(request)
            return super().policy_check(request, context)

    class Heard(Plan):
        def open_caller(self, args):
            return contextlib.nullcontext(Listening(Inventory.parse(CLOUD, 'test'), registry))

    program('plan', 'f', f={**GROW, 'dry_run': False, 'explain': 'none'})  # writes the file
    app = PlacementPolicy()
    app.command_manager.add_command('heard', Heard)
    app.run(['heard', 'f'])

    assert [(one.dry_run, one.explain) for one in asked] == [(True, 'full')]


POOL = {
    'pool': 'p1', 'added': ['n4', 'n5'], 'removed': [], 'already_there': ['n1'], 'failed': {'n6': 'no address'},
    'api_calls': 3, 'updates': 2, 'estimated_s': 6.5, 'waited_s': 0,
}  # fmt: skip


def with_pool(**details):
    change = PoolChange('balanced', {**POOL, **details})
    return Changes('CLUSTER_SCALE_OUT', 'a1', 'AFTER', 'web', 'OK', 'done', size=5, pools=[change])


def test_a_load_balancer_s_members_updates_and_seconds_are_shown():
    assert shown(with_pool(removed=['n2'])) == [
        'CLUSTER_SCALE_OUT of cluster web, AFTER: 5 nodes',
        '',
        'Pool p1 (balanced):',
        '  - n2',
        '  + n4',
        '  + n5',
        '    already there: n1',
        '    failed: n6: no address',
        '    api calls: 3',
        '    2 load-balancer updates, about 6.5 s',
        '',
        'Plan: 2 load-balancer updates. Nothing was done.',
        '',
    ]


def test_a_pool_that_keeps_its_members_is_no_change():
    assert with_pool().any
    assert not with_pool(added=[]).any


def test_pools_are_read_from_the_decisions_of_load_balancing_policies():
    reply = {
        'action': {'id': 'a', 'data': {'status': 'OK', 'reason': 'r'}}, 'cluster': None, 'nodes': {},
        'decisions': [
            {'policy_id': 'p', 'policy_name': None, 'policy_type': 'senlin.policy.loadbalance-1.3', 'priority': 500,
             'outcome': 'APPLIED', 'reason': 'r', 'elapsed_ms': 1.0, 'details': POOL},
        ],
    }  # fmt: skip
    found = plan_changes.of(codec.decode(IDLE, CheckRequest), codec.decode(reply, CheckReply))

    assert found.pools == [PoolChange('p', POOL)]
    assert found.any


def test_what_the_load_balancing_policy_would_do_is_shown_and_octavia_is_only_read():
    lab = Lab()
    policy, members = lab.attached([connected(1), connected(2)])
    lab.calls.clear()
    data = {'creation': {'count': 2, 'nodes': ['n2', 'n3', 'n4']}}
    asked = request(
        'CLUSTER_SCALE_OUT',
        [policy],
        [*members, connected(3), connected(4)],
        target='AFTER',
        data=data,
        dry_run=True,
    )

    lines = shown(
        plan_changes.of(
            codec.decode(asked, CheckRequest), codec.decode(lab.check(asked), CheckReply)
        )
    )

    assert lines == [
        'CLUSTER_SCALE_OUT of cluster web, AFTER: 4 nodes',
        '',
        f'Pool {policy["data"]["LoadBalancingPolicy"]["data"]["pool"]} (loadbalance):',
        '  + n3',
        '  + n4',
        '    already there: n2',
        '    api calls: 1',
        '    1 load-balancer update, about 1 s',
        '',
        'Plan: 1 load-balancer update. Nothing was done.',
        '',
    ]
    assert [str(call) for call in lab.calls if call.writes] == []


def test_terminals_get_colours_and_nobody_else():
    found = Changes(
        'CLUSTER_SCALE_IN', 'a1', 'BEFORE', 'web', 'OK', 'done', 3, deleted=1,
        places={'zones': [PlaceChange('a', 2, 1)]},
    )  # fmt: skip

    assert '  \x1b[31m- a  2 -> 1  -1\x1b[0m' in shown(found, Paint(on=True))
    assert not any('\x1b' in line for line in shown(found))


class Screen:
    def isatty(self):
        return True


class Pipe:
    def isatty(self):
        return False


@pytest.mark.parametrize(
    ('stream', 'environ', 'colored'),
    [
        (Screen(), {'TERM': 'xterm'}, True),
        (Screen(), {'TERM': 'xterm', 'NO_COLOR': ''}, True),
        (Screen(), {'TERM': 'xterm', 'NO_COLOR': '1'}, False),
        (Screen(), {'TERM': 'dumb'}, False),
        (Pipe(), {'TERM': 'xterm'}, False),
    ],
)
def test_colours_are_for_terminals_whose_users_want_them(stream, environ, colored):
    assert (Paint.of(stream, environ)('x', 'red') != 'x') is colored
