"""The events of a deletion in the history of a node."""

import json

import pytest

from placement_worker.policies.base import BEFORE, Outcome, on
from placement_worker.policies.registry import Registry
from tests.factories import (
    connected,
    deletion_policy,
    node,
    nodes,
    request,
    zone_policy,
)
from tests.simulated_octavia import Lab
from tests.unit.decisions.conftest import recorded, shrinking
from tests.unit.policies.good_policy import Good


class Newest(Good):
    """A plugin that chooses the last two members."""

    interface = (2, 0)
    name = 'test.newest'
    targets = on(BEFORE, 'CLUSTER_SCALE_IN')

    def check(self, request, state):
        chosen = [node.id for node in request.cluster.nodes[:-3:-1]]
        data = {**state.data, 'deletion': {'count': 2, 'candidates': chosen}}
        return Outcome('APPLIED', 'The newest nodes', data=data, warnings=['Only two'])


def test_victim_and_spared_node_have_rank_and_reason(decide, history):
    """A log without explanations is explained by deciding again."""
    members = [node(1, 'a'), node(2, 'a'), node(3, 'b', status='ERROR')]
    line, _ = decide(shrinking(2, *members))

    (first,), (second,), (third,) = (history(name, [line]) for name in ('n3', 'n1', 'n2'))

    assert (first.event, first.text) == ('chosen', 'rank 1 (unhealthy) among 2 victims')
    assert (second.event, second.text) == ('chosen', 'rank 2 (oldest in a) among 2 victims')
    assert (third.event, third.text) == ('spared', 'rank 3 (oldest) after 2 victims')
    assert {row['name'] for row in third.places} == {'a', 'b'}


def test_victim_of_a_missing_policy_has_its_rank_in_the_list(decide, history):
    """A decision that cannot be made again still names its victims and the policy."""
    line, _ = decide(shrinking(1, *nodes(a=2)))

    (event,) = history('n1', [line.replace(b'policy.deletion', b'policy.removed')])

    assert event.text == 'rank 1 (chosen by deletion: Candidates generated) among 1 victim'


def test_node_spared_by_a_health_floor_has_its_rank_and_the_floor(history):
    """The event of a victim that a health floor spares has the rank that it had, and the pool."""
    lab = Lab()
    policy, members = lab.attached(
        [connected(number) for number in (1, 2)], version='1.4', min_online=1, health_monitor={}
    )
    endpoints, lines = recorded(lab)
    policies = [deletion_policy(), policy]
    endpoints.policy_check(request('CLUSTER_SCALE_IN', policies, members, inputs={'count': 2}))

    pool = policy['data']['LoadBalancingPolicy']['data']['pool']
    assert [(one.event, one.text) for one in history('n2', lines)] == [
        ('spared', f'rank 2 (health floor of pool {pool}) after 1 victim')
    ]


def test_protected_node_is_spared_with_end_and_reason(decide, history):
    """A protected node has no rank, so its event has the protection."""
    data = {'protected': {'until': '2999-01-01', 'reason': 'batch job'}}
    line, _ = decide(shrinking(1, *nodes(a=2), node(3, 'a', data=data)))

    (event,) = history('n3', [line])

    assert (event.event, event.text) == ('spared', 'protected until 2999-01-01 (batch job)')


@pytest.mark.parametrize('rows', [5, [5], [{'rank': 1}], [{'id': 5, 'rank': 1}]])
def test_victim_in_a_record_with_edited_rows_has_its_rank(decide, history, rows):
    """Rows of a record that cannot be decided again are skipped if they name no node."""
    line = json.loads(decide(shrinking(1, *nodes(a=2)))[0])
    line['reply']['decisions'][-1]['details']['victims'] = rows
    line['request']['policies'][0]['spec']['type'] = 'missing'

    (event,) = history('n1', [json.dumps(line).encode()])

    assert event.text == 'rank 1 among 1 victim'


@pytest.mark.parametrize('behind', [[], [zone_policy('a', 'b'), deletion_policy()]])
def test_victim_that_a_plugin_chose_has_the_reason_of_the_plugin(decide, history, behind):
    """The event names the plugin and its reason, also after its package was removed."""
    installed = Registry([*Registry.installed().types.items(), ('test.newest-1.0', Newest)])
    policies = [{'id': 'p0', 'name': 'victims', 'spec': {'type': 'test.newest', 'version': 1}}]
    asked = request('CLUSTER_SCALE_IN', [*policies, *behind], nodes(a=2, b=2), inputs={'count': 2})
    line, _ = decide(asked, registry=installed)

    (event,) = history('n4', [line])

    assert (event.event, event.text) == (
        'chosen',
        'rank 1 (chosen by victims: The newest nodes) among 2 victims',
    )
    assert event.policies[0] == 'victims (test.newest-1.0): The newest nodes'
    assert event.warnings == ['Only two']


@pytest.mark.parametrize('name', ['n1', 'n3'])
def test_deletion_without_a_deletion_policy_says_that_the_engine_chose(decide, history, name):
    """Each node of the cluster may have been the victim, so it has an event with the places."""
    asked = request(
        'CLUSTER_SCALE_IN', [zone_policy('a', 'b')], nodes(a=2, b=1), inputs={'count': 1}
    )
    line, _ = decide(asked)

    (event,) = history(name, [line])

    assert (event.event, event.node) == ('unnamed', name)
    assert event.text == '1 victim without a name (a: 1): no policy chose, so the engine did'
