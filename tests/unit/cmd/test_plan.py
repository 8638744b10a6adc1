"""The command `placement-policy plan`."""

import json
from unittest.mock import Mock

import pytest
import yaml
from msgspec import structs

from placement_worker.cmd.output import Paint
from placement_worker.cmd.plan import plan_lines
from placement_worker.cmd.plan_changes import Changes, PlaceChange, Victim
from placement_worker.errors import InvalidRequest
from placement_worker.handlers.in_process import InProcessCaller
from tests.factories import (
    deletion_policy,
    load_balancing_policy,
    node,
    nodes,
    region_policy,
    request,
    zone_policy,
)

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
    """Return a function that plans requests over CLOUD."""

    def planned(*requests, options=()):
        text = yaml.safe_dump_all(requests)
        return program('plan', 'f', '--cloud', 'cloud', *options, f=text, cloud=CLOUD)

    return planned


def test_plan_of_growth_shows_the_nodes_of_each_zone(plan):
    """A plan of growth shows the nodes of each zone before and after."""
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


def test_plan_of_shrinkage_shows_the_victims_with_reasons(plan):
    """A plan of shrinkage lists the victims in order with their reasons."""
    status, out, _ = plan(SHRINK)

    assert status == 2
    assert out.splitlines() == [
        'CLUSTER_SCALE_IN of cluster web, BEFORE: 3 nodes -> 1',
        '',
        'Zones:',
        '  - a  2 -> 0  -2',
        '    b  1 -> 1',
        '',
        'To be deleted, in this order:',
        '  - n1  a  oldest in a  ACTIVE',
        '  - n2  a  oldest in a  ACTIVE',
        '',
        'Plan: 2 nodes to delete. Nothing was done.',
        '',
    ]


def test_plan_over_regions_has_rows_for_zones_and_for_no_known_place(plan):
    """Zones of regions and nodes in no known place have rows of their own."""
    members = [node(1, 'a', 'R1'), node(2, 'b', 'R2'), node(3)]
    policies = [region_policy('R1', 'R2'), zone_policy('a', 'b')]

    _, out, _ = plan(request('CLUSTER_SCALE_IN', policies, members, inputs={'count': 2}))

    assert '  - (no known place)  1 -> 0  -1' in out
    assert '  - R2/b  1 -> 0  -1' in out


@pytest.mark.parametrize('policies', [[], [deletion_policy()]])
def test_plan_without_placement_policy_counts_nodes_by_place(plan, policies):
    """Without a placement policy, or any policy, the plan still shows the places of the victims."""
    members = nodes(a=2, b=1)
    asked = request('CLUSTER_DEL_NODES', policies, members, inputs={'candidates': ['n2']})

    status, out, _ = plan(asked)

    assert (status, 'Nodes:\n  - a  2 -> 1  -1\n    b  1 -> 1\n' in out) == (2, True)
    assert '  - n2  a  named by the action  ACTIVE\n' in out


@pytest.mark.parametrize(
    ('requests', 'status'),
    [([IDLE], 0), ([IDLE, GROW, IDLE], 2), ([GROW, FAILING, GROW], 1)],
    ids=['idle', 'change', 'failure'],
)
def test_plan_of_several_requests_exits_with_the_most_severe_status(plan, requests, status):
    """A failure outweighs a change, and a change outweighs no change."""
    assert plan(*requests)[0] == status


HEAT = {'type': 'os.heat.stack-1.0'}
PROTECTED = node(1, metadata={'protected': 'true'})
NOTHING = 'Policies change nothing: '
GROWTH = 'Plan: 6 nodes to create; no policy placed the nodes: {}. Nothing was done.'


def growing(*policies, **more):
    return request('CLUSTER_SCALE_OUT', policies, nodes(a=2), inputs={'count': 6}, **more)


@pytest.mark.parametrize(
    ('asked', 'status', 'line'),
    [
        (
            growing(zone_policy('a'), profile=HEAT),
            2,
            GROWTH.format(
                'senlin.policy.zone_placement does not support profile type os.heat.stack-1.0'
            ),
        ),
        (
            growing(zone_policy('a', enabled=False)),
            2,
            GROWTH.format('policy zone_placement is disabled'),
        ),
        (growing(), 2, GROWTH.format('the request has no policies')),
        (
            growing(zone_policy('a', enabled=False), deletion_policy()),
            2,
            GROWTH.format(
                'policy zone_placement is disabled; senlin.policy.deletion does not handle '
                'CLUSTER_SCALE_OUT BEFORE'
            ),
        ),
        (IDLE, 0, f'{NOTHING}senlin.policy.zone_placement does not handle CLUSTER_UPDATE BEFORE'),
        ({**IDLE, 'policies': []}, 0, f'{NOTHING}the request has no policies'),
        (
            request('CLUSTER_RESIZE', [zone_policy('a')], nodes(a=2)),
            0,
            f'{NOTHING}No node is to be created or deleted',
        ),
        (
            request('CLUSTER_SCALE_IN', [deletion_policy()], [PROTECTED]),
            0,
            f'{NOTHING}All nodes are protected',
        ),
        (
            request('CLUSTER_SCALE_OUT', [load_balancing_policy()], target='AFTER', profile=HEAT),
            0,
            f'{NOTHING}senlin.policy.loadbalance does not support profile type os.heat.stack-1.0',
        ),
        (
            request('CLUSTER_SCALE_IN', [], nodes(a=2), inputs={'count': 1}),
            2,
            'Plan: 1 node to delete; no policy chose the node: the request has no policies. '
            'Nothing was done.',
        ),
        (
            request(
                'NODE_CREATE', [zone_policy('a')], [node(1)], node=node(9), cause='Derived Action'
            ),
            2,
            'Plan: 1 node to create; no policy placed the node: NODE_CREATE is a derived action: '
            'the policies decide on the action that it is part of. Nothing was done.',
        ),
    ],
    ids=[
        'profile', 'disabled', 'unbound', 'two reasons', 'unhandled', 'idle', 'same size',
        'protected', 'after', 'shrinkage', 'derived',
    ],
)  # fmt: skip
def test_plan_without_decisions_names_the_reason(plan, asked, status, line):
    """A plan states why the policies change nothing, or did not decide."""
    code, out, _ = plan(asked)

    assert (code, out.splitlines()[-2]) == (status, line)


def test_plan_with_malformed_inputs_that_no_policy_reads_warns(plan):
    """Malformed inputs are a warning of the plan if no policy refuses them."""
    _, out, _ = plan(request('CLUSTER_SCALE_OUT', [], nodes(a=2), inputs={'count': 'x'}))

    assert out.startswith('Warning: Expected `int`, got `"x"` - at `$.action.inputs.count`\n')


def test_plan_of_a_failed_check_shows_the_reason_with_its_details(plan):
    """A failed check shows its warning and reason, what is behind it, and no changes."""
    _, out, _ = plan(FAILING)

    assert out.splitlines() == [
        'Warning: The cloud does not know availability zone "gone"; it has "a", "b", "down"',
        'CLUSTER_SCALE_OUT of cluster web, BEFORE: ERROR',
        '! No availability zone found available.',
        '    unknown_zones: gone',
        '    zones_of_the_cloud: a, b, down',
        '',
    ]


def test_plan_as_json_contains_the_changes(plan):
    """The data of a plan has the changes, and each skipped policy with its reason."""
    asked = {
        **SHRINK,
        'policies': [*SHRINK['policies'], {**zone_policy('a', enabled=False), 'id': 'p'}],
    }
    _, out, _ = plan(asked, options=['-f', 'json'])

    changes = json.loads(out)
    assert (changes['deleted'], changes['is_decided']) == (2, True)
    assert changes['places']['zones'][0] == {'name': 'a', 'before': 2, 'after': 0, 'note': ''}
    victim = {'id': 'n1', 'place': 'a', 'reason': 'oldest in a', 'status': 'ACTIVE'}
    assert changes['victims'][0] == victim
    reason = 'policy zone_placement is disabled'
    assert changes['skipped'] == [{'policy': 'zone_placement', 'reason': reason}]


def test_plan_requests_a_dry_run_with_full_explanation(plan, monkeypatch):
    """The command overrides `dry_run` and `explain` of the request."""
    caller = Mock(side_effect=InvalidRequest('recorded'))
    monkeypatch.setattr(InProcessCaller, 'policy_check', caller)

    plan({**GROW, 'dry_run': False, 'explain': 'none'})

    (asked,) = caller.call_args.args
    assert (asked.dry_run, asked.explain) == (True, 'full')


PLAIN = Paint(on=False)
SHRINKING = Changes('CLUSTER_SCALE_IN', 'a1', 'BEFORE', 'web', 'OK', 'done', 3, deleted=2)


def test_shown_with_escape_characters_aligns_the_columns():
    """An escape character in a name does not shift the columns."""
    found = structs.replace(
        SHRINKING,
        places={'zones': [PlaceChange('a\x1b', 2, 1), PlaceChange('b', 1, 0)]},
        victims=[Victim('n\x1b', 'a', 'oldest'), Victim('n2', 'b', 'oldest')],
    )

    lines = list(plan_lines(found, PLAIN))

    assert r'  - a\u001b  2 -> 1  -1' in lines
    assert '  - b        1 -> 0  -1' in lines
    assert r'  - n\u001b  a  oldest' in lines
    assert '  - n2       b  oldest' in lines
