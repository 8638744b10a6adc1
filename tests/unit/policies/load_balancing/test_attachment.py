"""Attaching the policy: its load balancer is found or created, filled, or undone."""

import dataclasses

import msgspec
import pytest

from placement_worker.cloud.ports import ApiError
from placement_worker.errors import CloudUnavailable, InvalidInput, InvalidSpec
from placement_worker.policies.load_balancing import attachment
from placement_worker.policies.load_balancing.properties import LoadBalancingProperties
from tests.factories import bind, connected, load_balancing_policy, node
from tests.simulated_octavia import Lab, data_of, patched
from tests.unit.policies.load_balancing.building_blocks import OURS, Killed, ids_of, refusal, writes

BUSY = 'Octavia responded with status 503: busy, after 10 attempts in 25 s'
NO_ADDRESS = (
    'Failed in adding nodes into lb pool: {} ({}: The node has no address of IP version 4 on '
    'network private of subnet private-subnet)'
)
NO_SUBNET = 'Subnet none of `{}.subnet` does not exist in the cloud.'
VANISHED = 'Load balancer placement-worker-web was deleted during its creation'


def shown(found, *keys):
    return {key: found[key] for key in keys}


def own(*members, **properties):
    """Return the request to attach a policy to these nodes, or to n1 and n2."""
    return bind(load_balancing_policy(**properties), members or [connected(1), connected(2)])


def refused(reply):
    assert reply['status'] == 'ERROR'
    return reply['reason']


def killed(lab, asked, name):
    """Attach, and end the worker after the first call of this name."""

    def kill(call):
        answer = call.act()
        if call.name == name:
            raise Killed
        return answer

    lab.around = kill
    with pytest.raises(Killed):
        lab.attach(asked)
    lab.around = lambda call: call.act()


def busy(lab, name):
    """Let Octavia respond with status 503 to ten calls of this name, which fail all attempts."""
    left = [None] * 10

    def refuse(call):
        if call.name == name and left:
            left.pop()
            raise ApiError('busy', 503)
        return call.act()

    lab.around = refuse


def cause_in(reply):
    """Return the cause in a reply, whether of the first node that failed or of all."""
    return refused(reply).rpartition('(n1: ')[2].partition(';')[0].removesuffix(')')


def test_attach_creates_all_parts_and_members_in_two_updates(lab):
    """A load balancer with all its parts and members takes two updates; other data stay."""
    persistence = {'type': 'APP_COOKIE', 'cookie_name': 'c'}
    pool = {'protocol': 'TCP', 'admin_state_up': False, 'session_persistence': persistence}
    listener = {'protocol': 'TCP', 'protocol_port': 8000, 'connection_limit': 50}
    monitor = {
        'type': 'HTTP', 'delay': 9, 'timeout': 8, 'max_retries': 7, 'http_method': 'HEAD',
        'url_path': '/up', 'expected_codes': '200-204',
    }  # fmt: skip
    policy = load_balancing_policy(
        version='1.3',
        data={'Other': 1},
        pool={**pool, 'protocol_port': 8080, 'lb_method': 'SOURCE_IP'},
        vip={'subnet': 'sub1', 'network': 'private', 'address': '10.0.0.77', **listener},
        health_monitor=monitor,
        availability_zone='lb-az',
        flavor_id='small',
    )
    members = [connected(number, data={'x': 1}) for number in range(1, 21)]
    others = {'pol-other': {'vip_address': '10.0.0.9'}}

    reply = lab.attach(bind(policy, members, data={'loadbalancers': others, 'y': 2}))

    made = lab.settled()
    parts = {kind: objects[0] for kind, objects in made.items() if len(objects) == 1}
    assert writes(lab) == ['create loadbalancer', 'update_members']
    assert {(part['name'], *part['tags']) for part in parts.values()} == {
        ('placement-worker-web', *OURS)
    }
    wanted = {
        'loadbalancer': {
            'vip_subnet_id': 'sub1', 'vip_network_id': 'net1', 'vip_address': '10.0.0.77',
            'admin_state_up': True, 'availability_zone': 'lb-az', 'flavor_id': 'small',
        },
        'listener': {**listener, 'admin_state_up': True},
        'pool': {**pool, 'lb_algorithm': 'SOURCE_IP'},
        'healthmonitor': monitor,
    }  # fmt: skip
    assert {kind: shown(parts[kind], *body) for kind, body in wanted.items()} == wanted
    assert len(made['member']) == 20
    assert shown(made['member'][0], 'address', 'protocol_port', 'subnet_id', 'weight', 'tags') == {
        'address': '10.0.0.1', 'protocol_port': 8080, 'subnet_id': 'sub1', 'weight': 1,
        'tags': [*OURS, 'placement-worker:node=n1'],
    }  # fmt: skip
    assert (reply['status'], reply['reason']) == ('OK', 'Policy attached.')
    ids = {kind: parts[kind]['id'] for kind in wanted}
    assert reply['policy'] == {
        'id': 'pol-loadbalance',
        'data': {'Other': 1, 'LoadBalancingPolicy': {'version': 1.3, 'data': ids}},
    }
    balancers = {**others, 'pol-loadbalance': {'vip_address': '10.0.0.77'}}
    assert reply['cluster'] == {'data': {'loadbalancers': balancers, 'y': 2}}
    assert data_of(patched(members, reply)) == {
        member['name']: {'x': 1, 'lb_member': member['id']} for member in made['member']
    }


@pytest.mark.parametrize(
    ('persistence', 'monitor', 'sent'),
    [
        ('SOURCE_IP', 'PING', {}),
        ('HTTP_COOKIE', 'TCP', {}),
        ('SOURCE_IP', 'HTTPS', {'url_path': '/up', 'expected_codes': '200'}),
    ],
)
def test_options_are_sent_only_for_types_that_octavia_accepts(lab, persistence, monitor, sent):
    """A cookie name and options of HTTP are valid with any type, and sent only where they apply."""
    policy = load_balancing_policy(
        pool={'session_persistence': {'type': persistence, 'cookie_name': 'whatever'}},
        health_monitor={'type': monitor, 'url_path': '/up', 'expected_codes': 200},
    )

    assert lab.attach(bind(policy))['status'] == 'OK'

    made = lab.settled()
    assert made['pool'][0]['session_persistence'] == {'type': persistence}
    options = made['healthmonitor'][0].keys() & {'http_method', 'url_path', 'expected_codes'}
    assert shown(made['healthmonitor'][0], *options) == sent


def test_long_name_of_the_cluster_is_shortened(lab):
    """Octavia accepts names of 255 characters."""
    lab.attach(bind(load_balancing_policy(), name='c' * 300))

    assert lab.settled()['loadbalancer'][0]['name'] == f'placement-worker-{"c" * 300}'[:255]


def test_provider_without_nested_creation_gets_one_part_at_a_time(lab):
    """If the provider refuses nested creation, the parts are created one after the other."""
    nested = Lab()
    nested.attach(own(health_monitor={}))
    lab.nested_creation = False
    assert lab.attach(own(health_monitor={}))['status'] == 'OK'

    kinds = ('loadbalancer', 'loadbalancer', 'listener', 'pool', 'healthmonitor')
    assert writes(lab) == [*(f'create {kind}' for kind in kinds), 'update_members']
    own_ids = {'id', 'listener_id', 'pool_id', 'healthmonitor_id', 'created_at', 'loadbalancer_id'}
    links = {'listeners', 'pools', 'loadbalancers'}
    for kind, made in nested.settled().items():
        for alone, together in zip(lab.settled()[kind], made, strict=True):
            compared = alone.keys() - own_ids - links
            assert shown(alone, *compared) == shown(together, *compared)


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
    assert ids_of(reply['policy'])['loadbalancer'] == min(late[1:])


def test_load_balancer_that_others_keep_deleting_is_created_five_times(lab):
    """After five attempts the reason names the load balancer that vanishes again and again."""

    def delete_at_once(call):
        answer = call.act()
        if call.name == 'create':
            lab.store.__init__()
        return answer

    lab.around = delete_at_once

    assert refused(lab.attach(own())) == (
        f'Other workers keep removing the load balancer placement-worker-web: {VANISHED}'
    )
    assert writes(lab) == ['create loadbalancer'] * 5


@pytest.mark.parametrize('is_redelivered', [False, True])
@pytest.mark.parametrize(
    ('members', 'properties', 'reason'),
    [
        ([connected(1), node(2)], {}, NO_ADDRESS.format("['n2']", 'n2')),
        ([node(1), node(2)], {}, NO_ADDRESS.format("['n1', 'n2']", 'n1')),
        ([connected(1, data={'placement': {'region_name': 'R2'}})], {},
         "Failed in adding nodes into lb pool: ['n1'] (n1: The node is in region R2, the load "
         'balancer in R1)'),
        ([connected(1), {**connected(1), 'id': 'n2'}], {},
         "Failed in adding nodes into lb pool: ['n2'] (n2: Node n1 has the same address)"),
        ([], {'pool': {'subnet': 'none'}}, NO_SUBNET.format('pool')),
        ([], {'vip': {'subnet': 'none'}}, NO_SUBNET.format('vip')),
        ([], {'vip': {'network': 'none'}, 'version': '1.2'},
         'Network none of `vip.network` does not exist in the cloud.'),
    ],
)  # fmt: skip
def test_attach_with_unusable_properties_or_nodes_leaves_nothing(
    lab, members, properties, reason, is_redelivered
):
    """An attachment that cannot succeed creates nothing, and removes the earlier objects."""
    if is_redelivered:
        killed(lab, own(), 'update_members')
        lab.calls.clear()

    assert refused(lab.attach(bind(load_balancing_policy(**properties), members))) == reason
    assert set(writes(lab)) == ({'delete loadbalancer'} if is_redelivered else set())
    assert lab.is_empty()


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


@pytest.mark.parametrize('by', ['id', 'name'])
def test_existing_load_balancer_gets_the_nodes_and_keeps_its_members(lab, by):
    """The nodes are added to the existing pool, and its other members stay."""
    lb, pool = lab.foreign('10.0.0.100')
    before = lab.settled()
    monitor = before['healthmonitor'][0]['id']

    policy, members = lab.attached(
        [connected(1), connected(2)],
        loadbalancer=lb if by == 'id' else 'front',
        pool={'id': pool},
        health_monitor={'id': monitor},
    )

    assert ids_of(policy) == {
        'loadbalancer': lb, 'listener': before['listener'][0]['id'], 'pool': pool,
        'healthmonitor': monitor, 'preexisting': True,
    }  # fmt: skip
    assert writes(lab) == ['update_members']
    assert lab.settled()['member'][:1] == before['member']
    assert lab.addresses() == ['10.0.0.1', '10.0.0.100', '10.0.0.2']
    assert all(one['data']['lb_member'] for one in members)


@pytest.mark.parametrize(
    ('properties', 'reason'),
    [
        ({'loadbalancer': 'none'}, 'The cloud has no load balancer none.'),
        ({'pool': {'id': 'none'}}, 'Load balancer front has no pool none.'),
        ({'health_monitor': {'id': 'none'}}, 'The cloud has no health monitor none.'),
        ({'loadbalancer': 'twin'}, '2 load balancers have the name twin: name one by its id.'),
        ({'loadbalancer': 'other'}, 'Load balancer other has no pool {pool}.'),
        ({'pool': {'subnet': 'none'}}, NO_SUBNET.format('pool')),
    ],
)
def test_missing_existing_objects_are_named_without_a_change(lab, properties, reason):
    """A load balancer, pool or monitor that does not exist is named, and nothing changes."""
    _, pool = lab.foreign()
    for name in ('twin', 'twin', 'other'):
        lab.octavia(None).create('loadbalancer', {'name': name})
    lab.calls.clear()
    pool_of = {'id': pool, **properties.get('pool', {})}
    given = {'loadbalancer': 'front', **properties, 'pool': pool_of}

    assert refused(lab.attach(own(**given))) == reason.format(pool=pool)
    assert writes(lab) == []


def test_load_balancer_pending_beyond_the_timeout_is_deleted(lab):
    """A load balancer that stays pending beyond the timeout is deleted."""

    def create_slowly(call):
        answer = call.act()
        if call.name == 'create':
            with lab.store.changing() as state:
                state['R1']['pending'][answer['id']]['until'] += 65
        return answer

    lab.around = create_slowly
    reply = lab.attach(bind(load_balancing_policy(lb_status_timeout=60), [connected(1)]))

    assert reply['reason'].startswith('Load balancer ')
    assert reply['reason'].endswith(' is still PENDING_CREATE after 60 s')
    assert lab.is_empty()


def test_failed_cleanup_is_part_of_the_reason(lab):
    """The reason names the cause if an object could not be removed after a failure."""
    lab.pending_s = 10**6

    assert (
        'is still PENDING_CREATE after 60 s; its objects could not be removed: Load bal'
        in refused(lab.attach(own(lb_status_timeout=60)))
    )
    assert len(lab.settled()['loadbalancer']) == 1


@pytest.mark.parametrize(
    ('name', 'is_existing'), [('show', True), ('members', True), ('members', False)]
)
def test_earlier_objects_are_removed_if_octavia_fails_to_show_them(lab, name, is_existing):
    """The objects of an earlier attempt are removed even if a lookup fails."""
    existing = lab.existing('10.0.0.100')
    asked = own(**existing if is_existing else {})
    killed(lab, asked, 'update_members')
    lab.clock.now += 10
    busy(lab, name)

    assert cause_in(lab.attach(asked)) == BUSY
    assert lab.addresses() == ['10.0.0.100']
    assert len(lab.settled()['loadbalancer']) == 1


@pytest.mark.parametrize('change', [{'loadbalancer': 'twin'}, {'health_monitor': {'id': 'none'}}])
def test_existing_pool_is_cleared_if_named_objects_are_missing(lab, change):
    """Members of an earlier attempt leave a preexisting pool if a named object is missing."""
    existing = lab.existing('10.0.0.100')
    killed(lab, own(**existing), 'update_members')
    for _ in range(2):
        lab.octavia(None).create('loadbalancer', {'name': 'twin'})

    reply = lab.attach(own(**{**existing, **change}))

    assert 'could not be removed' not in refused(reply)
    assert lab.addresses() == ['10.0.0.100']


def test_reason_names_objects_that_cannot_be_looked_up(lab):
    """The reason names objects of an earlier attempt that cannot be looked up."""
    killed(lab, own(), 'update_members')
    lab.around = refusal('find', error=ApiError('busy', 503))

    assert refused(lab.attach(own())) == (
        f'{BUSY}; possible objects of an earlier attempt could not be removed: {BUSY}'
    )


def test_expired_copy_removes_nothing(lab):
    """An expired copy removes nothing: the policy may have been attached again."""
    killed(lab, own(), 'update_members')
    late = {**own(), 'expires_at': lab.clock.after(5)}

    def dawdle(call):
        lab.clock.now += 10
        return call.act()

    lab.around = dawdle

    assert refused(lab.attach(late)) == 'Request expired'
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2']


@pytest.mark.parametrize('is_existing', [False, True])
@pytest.mark.parametrize('fault', ['no address', 'no subnet', 'busy', 'member refused'])
def test_failed_attach_of_an_attached_policy_keeps_its_objects(lab, is_existing, fault):
    """A failed repeated attachment of an attached policy removes nothing."""
    properties = lab.existing('10.0.0.100') if is_existing else {}
    policy, members = lab.attached([connected(1), connected(2)], **properties)
    before = lab.settled()
    members = [*members, node(3) if fault == 'no address' else connected(3)]
    if fault == 'no subnet':
        policy['spec']['properties']['pool']['subnet'] = 'none'
    if fault == 'busy':
        busy(lab, 'members')
    if fault == 'member refused':
        lab.batch_members = False
        lab.around = refusal('create_member')

    reply = lab.attach(bind(policy, members))

    assert refused(reply)
    assert reply['policy']['data'] == policy['data']
    assert lab.settled() == before


def check_resources(properties, lab=None):
    attachment.check_named_resources(
        msgspec.convert(properties, LoadBalancingProperties), lab or Lab()
    )


@pytest.mark.parametrize(
    ('properties', 'message'),
    [
        ({'pool': {'subnet': 'x'}, 'vip': {'subnet': 'y', 'network': 'z'}, 'flavor_id': 'f',
          'availability_zone': 'az'},
         'The cloud has no pool.subnet `x`, no vip.subnet `y`, no vip.network `z`, '
         'no flavor_id `f`, no availability_zone `az` - at `$.spec.properties.pool.subnet`'),
        ({'pool': {'subnet': 'private-subnet', 'id': 'p'}, 'loadbalancer': 'lb',
          'health_monitor': {'id': 'm'}},
         'The cloud has no loadbalancer `lb`, no pool.id `p`, no health_monitor.id `m` - at '
         '`$.spec.properties.loadbalancer`'),
    ],
)  # fmt: skip
def test_check_names_all_missing_resources(properties, message):
    """All resources that the cloud lacks are named, with the path of the first."""
    with pytest.raises(InvalidSpec) as raised:
        check_resources(properties)

    assert str(raised.value) == message


def test_check_accepts_names_and_ids(lab):
    """A resource is found by its name or by its id."""
    _, pool = lab.foreign()
    monitor = lab.settled()['healthmonitor'][0]['id']
    vip = {'subnet': 'private-subnet', 'network': 'net1'}
    places = {'flavor_id': 'small', 'availability_zone': 'lb-az'}
    existing = {'loadbalancer': 'front', 'health_monitor': {'id': monitor}}

    check_resources({'pool': {'subnet': 'sub1'}, 'vip': vip, **places}, lab)
    check_resources({'pool': {'subnet': 'sub1', 'id': pool}, **existing}, lab)

    assert writes(lab) == []


def test_check_accepts_ambiguous_names(lab):
    """A name that several resources have counts as present: the owner may see only one."""
    lab.foreign()
    _, pool = lab.foreign()

    def of_several(region, name):
        raise InvalidInput('Several have this name')

    lab.subnet = lab.network = of_several
    vip = {'pool': {'subnet': 's'}, 'vip': {'subnet': 's', 'network': 'n'}}

    check_resources({'pool': {'subnet': 's', 'id': pool}, 'loadbalancer': 'front'}, lab)
    check_resources(vip, lab)
    with pytest.raises(InvalidSpec, match=r'^The cloud has no flavor_id `f` - at `.*\.flavor_id`$'):
        check_resources({**vip, 'flavor_id': 'f'}, lab)


def test_check_without_a_response_of_octavia_fails(lab, monkeypatch):
    """The validation fails with the cause if Octavia does not respond."""
    clock = {'sleep': lab.clock.sleep, 'clock': lab.clock}
    settings = dataclasses.replace(attachment._LOOKUP_SETTINGS, **clock)
    monkeypatch.setattr(attachment, '_LOOKUP_SETTINGS', settings)
    lab.around = refusal('show', error=ApiError('http://octavia: connection refused'))

    with pytest.raises(CloudUnavailable, match='not respond: http://octavia: connection refused'):
        check_resources({'pool': {'subnet': 'sub1', 'id': 'p'}, 'loadbalancer': 'lb'}, lab)

    assert len(lab.calls) == 3
    assert sum(lab.clock.slept) < 3
