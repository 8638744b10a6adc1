"""Tests for attaching the load-balancing policy."""

import pytest

from placement_worker.cloud.ports import ApiError
from tests.factories import bind, connected, load_balancing_policy, node
from tests.simulated_octavia import Lab, data_of, patched

OURS = ['placement-worker:cluster=c1', 'placement-worker:policy=pol-loadbalance']


def shown(found, *keys):
    return {key: found[key] for key in keys}


def test_attach_creates_all_parts_and_members_in_two_updates(lab):
    """A load balancer with all its parts and members takes two updates."""
    policy = load_balancing_policy(
        version='1.3',
        pool={
            'protocol': 'TCP', 'protocol_port': 8080, 'lb_method': 'SOURCE_IP',
            'admin_state_up': False,
            'session_persistence': {'type': 'APP_COOKIE', 'cookie_name': 'c'},
        },
        vip={
            'subnet': 'sub1', 'network': 'private', 'address': '10.0.0.77', 'protocol': 'TCP',
            'protocol_port': 8000,
            'connection_limit': 50,
        },
        health_monitor={
            'type': 'HTTP', 'delay': 9, 'timeout': 8, 'max_retries': 7, 'http_method': 'HEAD',
            'url_path': '/up',
            'expected_codes': '200-204',
        },
        availability_zone='lb-az', flavor_id='small',
    )  # fmt: skip
    members = [connected(number) for number in range(1, 21)]

    reply = lab.attach(bind(policy, members))

    made = lab.settled()
    (lb,), (listener,), (pool,), (monitor,) = (
        made[k] for k in ('loadbalancer', 'listener', 'pool', 'healthmonitor')
    )
    assert [str(call) for call in lab.calls if call.writes] == [
        'create loadbalancer',
        'update_members',
    ]
    assert {(one['name'], *one['tags']) for one in (lb, listener, pool, monitor)} == {
        ('placement-worker-web', *OURS)
    }
    assert shown(
        lb, 'vip_subnet_id', 'vip_network_id', 'vip_address', 'admin_state_up',
        'availability_zone', 'flavor_id'
    ) == {
        'vip_subnet_id': 'sub1', 'vip_network_id': 'net1', 'vip_address': '10.0.0.77',
        'admin_state_up': True,
        'availability_zone': 'lb-az', 'flavor_id': 'small',
    }  # fmt: skip
    assert shown(listener, 'protocol', 'protocol_port', 'connection_limit', 'admin_state_up') == {
        'protocol': 'TCP', 'protocol_port': 8000, 'connection_limit': 50, 'admin_state_up': True,
    }  # fmt: skip
    assert shown(pool, 'protocol', 'lb_algorithm', 'admin_state_up', 'session_persistence') == {
        'protocol': 'TCP', 'lb_algorithm': 'SOURCE_IP', 'admin_state_up': False,
        'session_persistence': {'type': 'APP_COOKIE', 'cookie_name': 'c'},
    }  # fmt: skip
    assert shown(
        monitor, 'type', 'delay', 'timeout', 'max_retries', 'http_method', 'url_path',
        'expected_codes'
    ) == {
        'type': 'HTTP', 'delay': 9, 'timeout': 8, 'max_retries': 7, 'http_method': 'HEAD',
        'url_path': '/up',
        'expected_codes': '200-204',
    }  # fmt: skip
    assert len(made['member']) == 20
    assert shown(made['member'][0], 'address', 'protocol_port', 'subnet_id', 'weight', 'tags') == {
        'address': '10.0.0.1', 'protocol_port': 8080, 'subnet_id': 'sub1', 'weight': 1,
        'tags': [*OURS, 'placement-worker:node=n1'],
    }  # fmt: skip
    assert (reply['status'], reply['reason']) == ('OK', 'Policy attached.')
    assert reply['policy'] == {
        'id': 'pol-loadbalance',
        'data': {
            'LoadBalancingPolicy': {
                'version': 1.3,
                'data': {
                    'loadbalancer': lb['id'], 'listener': listener['id'], 'pool': pool['id'],
                    'healthmonitor': monitor['id'],
                },
            }
        },
    }  # fmt: skip
    assert reply['cluster'] == {
        'data': {'loadbalancers': {'pol-loadbalance': {'vip_address': '10.0.0.77'}}}
    }
    assert data_of(patched(members, reply)) == {
        member['name']: {'lb_member': member['id']} for member in made['member']
    }


def test_attach_keeps_other_keys_of_binding_cluster_and_nodes(lab):
    """Other keys in the data of binding, cluster and nodes stay."""
    policy = load_balancing_policy(data={'Other': 1})
    members = [connected(1, data={'x': 1})]
    data = {'loadbalancers': {'pol-other': {'vip_address': '10.0.0.9'}}, 'y': 2}

    reply = lab.attach(bind(policy, members, data=data))

    assert set(reply['policy']['data']) == {'Other', 'LoadBalancingPolicy'}
    assert set(reply['cluster']['data']['loadbalancers']) == {'pol-other', 'pol-loadbalance'}
    assert reply['cluster']['data']['y'] == 2
    assert reply['nodes']['n1']['data']['x'] == 1


def test_attach_to_an_empty_cluster_takes_one_update(lab):
    """A cluster without nodes gets a load balancer with an empty pool in one update."""
    reply = lab.attach(bind(load_balancing_policy()))

    assert (reply['status'], reply['nodes']) == ('OK', {})
    assert [str(call) for call in lab.calls if call.writes] == ['create loadbalancer']


def test_provider_without_nested_creation_gets_one_part_at_a_time(lab):
    """If the provider refuses nested creation, the parts are created one after the other."""

    def refuse(call):
        if call.name == 'create' and call.arguments[1].get('listeners'):
            raise ApiError('not supported', 501)
        return call.act()

    nested = Lab()
    nested.attach(bind(load_balancing_policy(health_monitor={}), [connected(1)]))
    lab.around = refuse
    reply = lab.attach(bind(load_balancing_policy(health_monitor={}), [connected(1)]))

    assert reply['status'] == 'OK'
    assert [str(call) for call in lab.calls if call.writes] == [
        'create loadbalancer', 'create loadbalancer', 'create listener', 'create pool',
        'create healthmonitor',
        'update_members',
    ]  # fmt: skip
    for kind, made in nested.settled().items():
        (alone,), (one,) = lab.settled()[kind], made
        left_out = {
            'id',
            'listener_id',
            'pool_id',
            'healthmonitor_id',
            'created_at',
            'loadbalancer_id',
        }
        links = {'listeners', 'pools', 'loadbalancers'}
        assert {k: v for k, v in alone.items() if k not in left_out | links} == {
            k: v for k, v in one.items() if k not in left_out | links
        }


def test_attach_again_adopts_all_parts_without_a_change(lab):
    """A repeated request adopts all parts and changes nothing."""
    members = [connected(1), connected(2)]
    first = lab.attach(bind(load_balancing_policy(health_monitor={}), members))
    before = lab.settled()
    lab.calls.clear()

    again = lab.attach(bind(load_balancing_policy(health_monitor={}), members))

    assert again == first
    assert lab.settled() == before
    assert not any(call.writes for call in lab.calls)


def test_load_balancer_in_error_of_an_earlier_attempt_is_deleted(lab):
    """A load balancer that an earlier attempt left in ERROR is deleted first."""
    lab.attach(bind(load_balancing_policy(), [connected(1)]))
    with lab.store.changing() as state:
        (broken,) = state['R1']['loadbalancer'].values()
        broken['provisioning_status'] = 'ERROR'

    reply = lab.attach(bind(load_balancing_policy(), [connected(1)]))

    (made,) = lab.settled()['loadbalancer']
    assert (reply['status'], made['provisioning_status']) == ('OK', 'ACTIVE')
    assert made['id'] != broken['id']


def test_of_two_tagged_load_balancers_the_older_stays(lab):
    """Of two load balancers with the tags the older one stays, then the one with the lower id."""
    octavia = lab.octavia(None)
    late = [octavia.create('loadbalancer', {'name': 'x', 'tags': OURS})['id'] for _ in range(3)]
    with lab.store.changing() as state:
        state['R1']['loadbalancer'][late[0]]['created_at'] = '2026-02-01T00:00:00'

    reply = lab.attach(bind(load_balancing_policy()))

    assert [one['id'] for one in lab.settled()['loadbalancer']] == [min(late[1:])]
    assert reply['policy']['data']['LoadBalancingPolicy']['data']['loadbalancer'] == min(late[1:])


def test_load_balancer_that_others_keep_deleting_is_created_five_times(lab):
    """After five attempts the reason names the load balancer that vanishes again and again."""

    def delete_at_once(call):
        answer = call.act()
        if call.name == 'create':
            with lab.store.changing() as state:
                for objects in state['R1'].values():
                    if isinstance(objects, dict):
                        objects.clear()
        return answer

    lab.around = delete_at_once
    reply = lab.attach(bind(load_balancing_policy(), [connected(1)]))

    assert reply['reason'] == (
        'Others keep removing the load balancer placement-worker-web: '
        'Load balancer placement-worker-web was deleted during its creation'
    )
    assert [call.name for call in lab.calls if call.writes] == ['create'] * 5


def test_load_balancer_of_another_policy_or_cluster_is_not_adopted(lab):
    """A load balancer with the tags of another cluster or policy is neither adopted nor deleted."""
    other = load_balancing_policy()
    other['id'] = 'pol-other'
    for asked in (
        bind(other, [connected(1)]),
        {**bind(load_balancing_policy(), [connected(1)], id='c2')},
    ):
        assert lab.attach(asked)['status'] == 'OK'

    assert lab.attach(bind(load_balancing_policy(), [connected(1)]))['status'] == 'OK'
    assert len(lab.settled()['loadbalancer']) == 3


@pytest.mark.parametrize(
    ('members', 'properties', 'reason'),
    [
        (
            [connected(1), node(2)],
            {},
            "Failed in adding nodes into lb pool: ['n2'] (n2: The node has no address of IP "
            'version 4 on network '
            'private of subnet private-subnet)',
        ),
        (
            [node(number) for number in range(1, 6)],
            {},
            "Failed in adding nodes into lb pool: ['n1', 'n2', 'n3', 'n4', 'n5'] (n1: The node "
            'has no address of IP '
            'version 4 on network private of subnet private-subnet)',
        ),
        (
            [connected(1, data={'placement': {'region_name': 'R2'}})],
            {},
            "Failed in adding nodes into lb pool: ['n1'] (n1: The node is in region R2, the load "
            'balancer in R1)',
        ),
        (
            [connected(1), {**connected(1), 'id': 'n2'}],
            {},
            "Failed in adding nodes into lb pool: ['n2'] (n2: Node n1 has the same address)",
        ),
        (
            [],
            {'pool': {'subnet': 'none'}},
            'Subnet none of `pool.subnet` does not exist in the cloud.',
        ),
    ],
)
def test_attach_with_unusable_properties_or_nodes_creates_nothing(lab, members, properties, reason):
    """An attachment that cannot succeed fails before anything is created."""
    reply = lab.attach(bind(load_balancing_policy(**properties), members))

    assert (reply['status'], reply['reason']) == ('ERROR', reason)
    assert not any(call.writes for call in lab.calls)


def test_attach_to_another_profile_type_is_refused(lab):
    """A cluster whose profile has another type is refused."""
    reply = lab.attach(bind(load_balancing_policy(), profile={'type': 'os.heat.stack-1.0'}))

    assert (reply['status'], reply['reason']) == (
        'ERROR', 'Policy not applicable on profile type: os.heat.stack-1.0',
    )  # fmt: skip


def test_load_balancer_is_created_in_the_region_of_the_profile(lab):
    """The load balancer is created in the region that the profile names."""
    profile = {'type': 'os.nova.server-1.0', 'properties': {'context': {'region_name': 'R2'}}}
    asked_in = []
    lab.octavia = lambda region, octavia=lab.octavia: asked_in.append(region) or octavia(region)
    here, there = connected(1, data={'placement': {'region_name': 'R2'}}), connected(2)

    assert (
        lab.attach(bind(load_balancing_policy(), [here, there], profile=profile))['status'] == 'OK'
    )
    assert asked_in == ['R2']


def test_attach_after_expiry_changes_nothing(lab):
    """A request that has expired changes nothing."""
    reply = lab.attach(bind(load_balancing_policy(), [connected(1)], expires_at=lab.clock.after(0)))

    assert (reply['status'], reply['reason']) == ('ERROR', 'Request expired')
    assert lab.calls == []
