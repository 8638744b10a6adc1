"""The history of a node in decision logs."""

import gzip

import pytest

from placement_worker.decisions import node_history
from placement_worker.decisions.node_history import InvalidLine
from tests.factories import (
    bind,
    connected,
    deletion_policy,
    load_balancing_policy,
    node,
    nodes,
    request,
    zone_policy,
)
from tests.simulated_octavia import Lab, patched
from tests.unit.decisions.conftest import recorded


@pytest.fixture
def history(tmp_path, registry):
    """Return a function that writes logs of these lines and reads the events of a node."""

    def read(name, *logs):
        paths = []
        for number, lines in enumerate(logs):
            paths.append(str(tmp_path / f'log.{number}'))
            (tmp_path / f'log.{number}').write_bytes(b''.join(lines))
        return list(node_history.read(paths, name, registry))

    return read


def shrinking(count, *members, **more):
    policies = [zone_policy('a', 'b'), deletion_policy('OLDEST_FIRST')]
    return request('CLUSTER_SCALE_IN', policies, members, inputs={'count': count}, **more)


def test_created_node_has_the_plan_of_its_action(decide, history):
    """The plan of a scale-out is found by its action, although it does not name the node."""
    policies = [zone_policy('a', 'b')]
    planned, _ = decide(request('CLUSTER_SCALE_OUT', policies, nodes(a=2), inputs={'count': 1}))
    data = {'creation': {'count': 1, 'nodes': ['n3']}}
    members = [*nodes(a=2), node(3, 'b')]
    created, _ = decide(request('CLUSTER_SCALE_OUT', policies, members, target='AFTER', data=data))

    (event,) = history('n3', [created], [planned])

    assert (event.event, event.text, event.action_id) == ('placed', 'in zone b', 'act-1')
    assert [(row['name'], row['current'], row['final']) for row in event.places] == [
        ('a', 2, 2),
        ('b', 0, 1),
    ]


def test_created_node_has_no_plan_of_a_dry_run(decide, history):
    """A dry run with the id of the action is no second plan of the node."""
    asked = request('CLUSTER_SCALE_OUT', [zone_policy('a', 'b')], nodes(a=2), inputs={'count': 1})
    tried, planned = decide({**asked, 'dry_run': True})[0], decide(asked)[0]
    data = {'creation': {'count': 1, 'nodes': ['n3']}}
    members = [*nodes(a=2), node(3, 'b')]
    created, _ = decide(request('CLUSTER_SCALE_OUT', [], members, target='AFTER', data=data))

    assert [event.event for event in history('n3', [tried, planned, created])] == ['placed']


def test_single_created_node_has_its_own_plan(decide, history):
    """The check of a NODE_CREATE names the place of its node."""
    new = node(1, created_at=None)
    line, _ = decide(request('NODE_CREATE', [zone_policy('a', 'b')], node=new))

    (event,) = history('n1', [line])

    assert (event.event, event.text) == ('placed', 'in zone a')


def test_created_node_with_malformed_placement_is_placed_nowhere(decide, history):
    """Data of an engine in another form do not break the history."""
    new = node(1, created_at=None, data={'placement': 'a'})
    line, _ = decide(request('NODE_CREATE', [deletion_policy()], node=new))

    (event,) = history('n1', [line])

    assert event.text.startswith('nowhere: ')


def test_victim_and_spared_node_have_rank_and_reason(decide, history):
    """A log without explanations is explained by deciding again."""
    members = [node(1, 'a'), node(2, 'a'), node(3, 'b', status='ERROR')]
    line, _ = decide(shrinking(2, *members))

    (first,), (second,), (third,) = (history(name, [line]) for name in ('n3', 'n1', 'n2'))

    assert (first.event, first.text) == ('chosen', 'rank 2 (unhealthy) among 2 victims')
    assert (second.event, second.text) == ('chosen', 'rank 1 (oldest in a) among 2 victims')
    assert (third.event, third.text) == ('spared', 'rank 3 (oldest) after 2 victims')
    assert {row['name'] for row in third.places} == {'a', 'b'}


def test_victim_of_a_missing_policy_has_no_rank(decide, history):
    """A decision that cannot be made again still names its victims."""
    line, _ = decide(shrinking(1, *nodes(a=2)))

    (event,) = history('n1', [line.replace(b'policy.deletion', b'policy.removed')])

    assert event.text == 'rank unknown among 1 victim'


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


def test_pool_member_joins_and_leaves(history):
    """A node joins a pool when the policy is attached, and leaves it when it is detached."""
    endpoints, lines = recorded(Lab())
    member, policy = connected(1), load_balancing_policy()
    attached = endpoints.policy_attach(bind(policy, [member]))
    bound = {**policy, 'data': attached['policy']['data']}
    endpoints.policy_detach(bind(bound, patched([member], attached)))

    joined, left = history('n1', lines)

    assert [joined.event, left.event] == ['joined', 'left']
    assert joined.text == f'member {attached["nodes"]["n1"]["data"]["lb_member"]} was added'
    assert (joined.action, left.action) == ('policy_attach', 'policy_detach')


def test_failed_check_counts_if_it_names_the_node(decide, history):
    """A failure is an event of the nodes that its reason names, and of no other."""
    line, _ = decide(shrinking(1, *nodes(a=2), data={'deletion': {'candidates': ['n9']}}))

    assert history('n1', [line]) == []

    failed = request('NODE_CREATE', [zone_policy('gone')], node=node(9))
    (event,) = history('n9', [decide(failed)[0]])
    assert (event.event, event.text) == ('failed', 'No availability zone found available.')


def test_failed_check_of_a_node_with_a_longer_id_does_not_count(decide, history):
    """A reason about n12 is no event of n1."""
    members = [node(1), node(12, data={'protected': True})]
    line, _ = decide(request('CLUSTER_DEL_NODES', [deletion_policy()], members,
                             inputs={'candidates': ['n12']}))  # fmt: skip

    assert history('n1', [line]) == []
    assert [event.event for event in history('n12', [line])] == ['failed']


def test_dry_run_is_no_event(decide, history):
    """A dry run changes nothing, so it has no part in the history."""
    line, _ = decide(shrinking(1, *nodes(a=2), dry_run=True))

    assert history('n1', [line]) == []


def test_node_is_found_by_its_name(decide, history):
    """A name works like an id."""
    line, _ = decide(shrinking(1, node(1, 'a', name='web-1'), node(2, 'a', name='web-2')))

    assert [event.node for event in history('web-2', [line])] == ['n2']


def test_compressed_and_invalid_logs_are_read(decide, tmp_path, registry):
    """Invalid lines that mention the node are reported before the events of all other lines."""
    line, _ = decide(shrinking(1, *nodes(a=2)))
    (tmp_path / 'log.gz').write_bytes(gzip.compress(b'"n1"\nno "n2"\n' + line))

    invalid, event = node_history.read([str(tmp_path / 'log.gz')], 'n1', registry)

    assert isinstance(invalid, InvalidLine)
    assert (invalid.number, event.event) == (1, 'chosen')


def test_record_of_a_request_that_is_refused_now_is_an_invalid_line(decide, history):
    """A record that does not fit the present contract does not hide the other records."""
    line, _ = decide(shrinking(1, *nodes(a=2)))

    invalid, event = history('n1', [line.replace(b'"target":"BEFORE"', b'"target":"DURING"'), line])

    assert isinstance(invalid, InvalidLine)
    assert (invalid.number, event.event) == (1, 'chosen')
    assert '$.target' in invalid.error


def test_lines_without_the_node_are_not_decoded(decide, history):
    """A large log costs little, because only lines with the node's name are decoded."""
    line, _ = decide(shrinking(1, *nodes(a=2)))

    assert history('n7', [b'{\n', line]) == []


def test_rebalance_is_no_event_of_its_nodes(decide, history):
    """A plan alone does nothing to a node; the checks of its steps are events."""
    cluster = request('', [], nodes(a=2))['cluster']
    line, reply = decide(
        {'cluster': cluster, 'policies': [zone_policy('a', 'b')]}, method='policy_rebalance'
    )

    assert len(reply['steps']) == 1
    assert history('n1', [line]) == []
