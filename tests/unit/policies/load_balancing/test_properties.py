"""The properties of the load-balancing policy: valid and invalid values, defaults, schema."""

import pytest

from placement_worker.errors import InvalidSpec
from tests.factories import bind, connected, load_balancing_policy, request
from tests.simulated_octavia import Lab

TYPE = 'senlin.policy.loadbalance'
VERSIONS = ['1.0', '1.1', '1.2', '1.3']
LEAST = {'pool': {'subnet': 's'}, 'vip': {'subnet': 's'}}
POOL = {
    'subnet': 's', 'protocol': 'HTTP', 'protocol_port': 80, 'lb_method': 'ROUND_ROBIN',
    'admin_state_up': True,
    'session_persistence': {'type': 'NONE', 'cookie_name': None}, 'id': None,
}  # fmt: skip
VIP = {
    'subnet': 's', 'network': None, 'address': None, 'connection_limit': -1, 'protocol': 'HTTP',
    'protocol_port': 80,
    'admin_state_up': True,
}  # fmt: skip
MONITOR = {
    'type': 'PING', 'delay': 10, 'timeout': 5, 'max_retries': 3, 'admin_state_up': True,
    'http_method': None,
    'url_path': None, 'expected_codes': None, 'id': None,
}  # fmt: skip


def validate(properties, version='1.1'):
    spec = {'type': TYPE, 'version': version, 'properties': properties}
    return Lab().endpoints().policy_validate({'spec': spec})['spec']['properties']


@pytest.mark.parametrize('version', [*VERSIONS, '1.4'])
def test_omitted_properties_get_their_defaults(version):
    """Properties that a spec omits get their defaults; only version 1.4 has a floor."""
    assert validate(LEAST, version)['health_monitor'] is None
    assert validate({**LEAST, 'health_monitor': {}}, version) == {
        'pool': POOL,
        'vip': VIP,
        'health_monitor': MONITOR,
        'lb_status_timeout': 300,
        'loadbalancer': None,
        'availability_zone': None,
        'flavor_id': None,
        **({'min_online': None} if version == '1.4' else {}),
    }


@pytest.mark.parametrize('min_online', [0, 3, 2**31 - 1, '3', '0%', '50%', '50 %', '33.3%', '100%'])
def test_min_online_is_a_number_or_a_percentage(min_online):
    """A number may be a string, as for other numbers of a spec; a percentage has a sign."""
    assert validate({**LEAST, 'min_online': min_online}, '1.4')['min_online'] == min_online


COOKIE = {'session_persistence': {'type': 'APP_COOKIE', 'cookie_name': 'c'}}
OPTIONS = {'http_method': 'GET', 'url_path': 'up'}


@pytest.mark.parametrize(
    ('version', 'part', 'values'),
    [
        ('1.1', None, {'pool': {'subnet': 's', 'id': 'p'}, 'vip': {}, 'loadbalancer': 'lb'}),
        ('1.1', 'pool', COOKIE),
        ('1.1', 'health_monitor', {'type': 'HTTPS', **OPTIONS, 'url_path': '/'}),
        ('1.1', 'health_monitor', {'type': 'PING', **OPTIONS}),
        ('1.1', 'health_monitor', {'delay': 0, 'timeout': 11}),
        ('1.1', 'pool', {'lb_method': 'SOURCE_IP_PORT'}),
        ('1.1', 'vip', {'address': 'fd00::9'}),
    ],
)
def test_values_that_octavia_accepts_are_valid(version, part, values):
    """Every value that Octavia accepts is valid."""
    changed = {part: {**LEAST.get(part, {}), **values}} if part else values

    assert validate({**LEAST, **changed}, version)


POOLS = {
    'TCP': 'HTTP HTTPS PROXY PROXYV2 TCP',
    'HTTP': 'HTTP PROXY PROXYV2',
    'HTTPS': 'HTTPS PROXY PROXYV2 TCP',
    'TERMINATED_HTTPS': '',
    'UDP': 'UDP',
    'SCTP': 'SCTP',
    'PROMETHEUS': '',
}
MONITORS = {
    'UDP': 'UDP-CONNECT SCTP TCP HTTP',
    'SCTP': 'UDP-CONNECT SCTP TCP HTTP',
    **dict.fromkeys(('HTTP', 'HTTPS', 'TCP', 'PROXY', 'PROXYV2'), 'HTTP HTTPS PING TCP TLS-HELLO'),
}
MONITOR_TYPES = ('HTTP', 'HTTPS', 'PING', 'TCP', 'TLS-HELLO', 'UDP-CONNECT', 'SCTP')
CODES = ('200', '200,202', '200 , 202', '200-204', ','.join(['200'] * 16))
WRONG_CODES = (','.join(['200'] * 17), '2xx', '200-99', '200,', '200-204,301', 'all', '200\n')
REFUSALS = [
    *(
        ({'vip': {'protocol': listener}, 'pool': {'protocol': pool}}, pool in pools.split(), 'vip')
        for listener, pools in POOLS.items()
        for pool in MONITORS
    ),
    *(
        (
            {
                'vip': {'protocol': pool if pool in ('UDP', 'SCTP') else 'TCP'},
                'pool': {'protocol': pool},
                'health_monitor': {'type': monitor},
            },
            monitor in monitors.split(),
            'health_monitor.type',
        )
        for pool, monitors in MONITORS.items()
        for monitor in MONITOR_TYPES
    ),
    *(
        (
            {'health_monitor': {'type': kind, 'expected_codes': codes}},
            codes in CODES or kind == 'PING',
            'health_monitor.expected_codes',
        )
        for kind in ('HTTP', 'HTTPS', 'PING')
        for codes in (*CODES, *WRONG_CODES)
    ),
    ({'vip': {'address': 'not-an-ip'}}, False, 'vip.address'),
    ({'vip': {'address': '10.0.0.300'}}, False, 'vip.address'),
    ({'vip': {'address': '10.0.0.30'}}, True, 'vip.address'),
]


@pytest.mark.parametrize(('changes', 'accepted', 'path'), REFUSALS)
def test_what_octavia_refuses_is_refused_before_a_load_balancer_is_created(changes, accepted, path):
    """Validation and attachment refuse what Octavia refuses, naming the path, without a call; the
    simulator accepts the rest.
    """
    lab = Lab()
    subnet = {'subnet': 'private-subnet'}
    parts = {'pool': subnet, 'vip': subnet, **changes}
    parts |= {key: {**subnet, **parts[key]} for key in ('pool', 'vip')}

    reply = lab.attach(bind(load_balancing_policy(**parts), [connected(1)]))

    if accepted:
        assert validate(parts)
        assert reply['status'] == 'OK', reply['reason']
    else:
        with pytest.raises(InvalidSpec) as refused:
            validate(parts)
        assert f' - at `$.spec.properties.{path}' in str(refused.value)
        assert (reply['status'], lab.calls) == ('ERROR', [])
        assert str(refused.value).replace('$.spec.properties.', '') == reply['reason']


@pytest.mark.parametrize('changes', [row[0] for row in REFUSALS if not row[1]])
def test_what_octavia_refuses_can_be_checked_and_detached_and_used_with_an_existing_pool(changes):
    """An attached spec stays usable, and an existing load balancer may have any values."""
    lab = Lab()
    policy, members = lab.attached([connected(1), connected(2)])
    parts = policy['spec']['properties']
    merged = {key: {**parts.get(key, {}), **part} for key, part in changes.items()}
    policy['spec']['properties'] = {**parts, **merged}

    asked = request('CLUSTER_SCALE_IN', [policy], members, inputs={'candidates': ['n1']})
    assert lab.check(asked)['action']['data']['status'] == 'OK'
    assert lab.addresses() == ['10.0.0.2']
    existing = {'loadbalancer': 'lb', 'pool': {**policy['spec']['properties']['pool'], 'id': 'p'}}
    assert validate({**policy['spec']['properties'], **existing})
    assert lab.detach(bind(policy, members))['status'] == 'OK'


NO_FLOOR = 'Expected a `min_online` such as `2` or `75%`, up to `100%`, got `{}` - at `$`'
NO_VIP = 'Expected `vip.subnet` or `vip.network`, got neither - at `$`'
NO_COOKIE = 'Expected `cookie_name` with type `APP_COOKIE`, got none - at `$.pool.{}`'
DELAY = ' - at `$.health_monitor.delay`'


@pytest.mark.parametrize(
    ('version', 'properties', 'message'),
    [
        ('1.4', {'min_online': -1}, 'Expected `int` >= 0, got `-1` - at `$.min_online`'),
        *(
            ('1.4', {'min_online': value}, NO_FLOOR.format(value))
            for value in ('', '%', '-5%', '101%', 'half', '1.5', '٣%', 'x' * 80)
        ),
        ('1.4', {'min_online': '5%\n'}, NO_FLOOR.format('5%\\n')),
        *(
            (
                '1.4',
                {'min_online': value},
                f'Expected `int | str | null`, got `{type(value).__name__}` - at `$.min_online`',
            )
            for value in (True, 0.5)
        ),
        ('1.3', {'min_online': 2},
         'Object contains unknown field `min_online`, expected one of `pool`, `vip`, '
         '`health_monitor`, `lb_status_timeout`, `loadbalancer`, `availability_zone`, '
         '`flavor_id` - at `$`'),
        ('1.1', {'pool': {}}, 'Object missing required field `subnet` - at `$.pool`'),
        ('1.1', {'pool': {'subnet': ''}},
         'Expected `str` of length >= 1, got `` - at `$.pool.subnet`'),
        ('1.1', {'vip': {}}, NO_VIP),
        ('1.3', {'vip': {'address': '10.0.0.1'}}, NO_VIP),
        ('1.1', {'loadbalancer': 'lb'},
         'Expected `pool.id` with `loadbalancer`, got none - at `$`'),
        *(
            (
                '1.1',
                {part: {**LEAST.get(part, {}), key: value}},
                f'Expected `int` {bound}, got `{value}` - at `$.{part}.{key}`',
            )
            for part, key, value, bound in (
                ('pool', 'protocol_port', 0, '>= 1'),
                ('vip', 'protocol_port', 65536, '<= 65535'),
                ('vip', 'connection_limit', -2, '>= -1'),
                ('health_monitor', 'max_retries', 11, '<= 10'),
            )
        ),
        ('1.1', {'lb_status_timeout': 0},
         'Expected `int` >= 1, got `0` - at `$.lb_status_timeout`'),
        ('1.1', {'health_monitor': {'type': 'HTTP', 'url_path': 'up'}},
         'Expected a `url_path` that begins with `/`, got `up` - at `$.health_monitor`'),
        ('1.1', {'pool': {'subnet': 's', 'session_persistence': {'type': 'APP_COOKIE'}}},
         NO_COOKIE.format('session_persistence')),
        *(
            ('1.1', {'health_monitor': {'delay': value}}, message + DELAY)
            for value, message in (
                ('soon', 'Expected `int`, got `str`'),
                (True, 'Expected `int`, got `bool`'),
                ('9' * 4000, f'Expected `int` <= 2147483647, got `{"9" * 80}...`'),
                ('9' * 5000, 'Expected `int`, got `str`'),
                (1e300, f'Expected `int` <= 2147483647, got `{int(1e300)!s:.80}...`'),
                (['1'], 'Expected `int`, got `array`'),
            )
        ),
    ],
)  # fmt: skip
def test_invalid_property_is_refused_by_name(version, properties, message):
    """An invalid property is refused, and the text names it."""
    with pytest.raises(InvalidSpec) as refused:
        validate({**LEAST, **properties}, version)

    assert str(refused.value) == message.replace('at `$', 'at `$.spec.properties')


@pytest.mark.parametrize(
    ('part', 'key'),
    [('pool', 'protocol'), ('pool', 'lb_method'), ('vip', 'protocol'), ('health_monitor', 'type'),
     ('health_monitor', 'http_method')],
)  # fmt: skip
def test_unknown_choice_is_refused_with_its_path(part, key):
    """A value that is not among the choices is refused with its path."""
    with pytest.raises(InvalidSpec, match=rf'PROXY3.* - at `\$\.spec\.properties\.{part}\.{key}`'):
        validate({**LEAST, part: {**LEAST.get(part, {}), key: 'PROXY3'}})


def test_spec_without_properties_is_refused():
    """A load balancer without a pool makes no sense."""
    with pytest.raises(
        InvalidSpec, match=r'missing required field `pool` - at `\$.spec.properties`'
    ):
        validate({})


@pytest.mark.parametrize(('delay', 'doubted'), [(600, False), (601, True), ('10000', True)])
def test_a_delay_that_looks_like_milliseconds_is_sent_with_a_warning(delay, doubted):
    """A health monitor with a delay above 600 is created, and a warning says what looks wrong."""
    lab, monitor = Lab(), {'delay': delay, 'timeout': 5000}

    reply = lab.attach(bind(load_balancing_policy(health_monitor=monitor)))

    warning = (
        f'The health monitor has a delay of {delay} s and a timeout of 5000 s; Octavia expects '
        'seconds, so check that the values are not in milliseconds.'
    )
    assert (reply['status'], reply['warnings']) == ('OK', [warning] * doubted)
    (made,) = lab.settled()['healthmonitor']
    assert (made['delay'], made['timeout']) == (int(delay), 5000)


@pytest.mark.parametrize('version', VERSIONS)
def test_json_schema_of_each_version_describes_all_properties(version):
    """The JSON Schema of each version has and describes all properties."""
    described = Lab().endpoints().policy_type_get({'type_name': f'{TYPE}-{version}'})

    schema = described['schema']
    kinds = schema['$defs']
    top = kinds[schema['$ref'].rpartition('/')[2]] if '$ref' in schema else schema
    assert set(top['properties']) == set(validate(LEAST, version))
    assert top['required'] == ['pool']
    assert kinds['Pool']['required'] == ['subnet']
    assert kinds['Pool']['properties']['protocol_port'] == {
        'type': 'integer', 'minimum': 1, 'maximum': 65535, 'default': 80,
        'description': 'Port of the service on the nodes.',
    }  # fmt: skip
    assert all(
        'description' in one
        for kind in (top, *kinds.values())
        for one in kind['properties'].values()
    )
    assert 'Seconds' in kinds['HealthMonitor']['properties']['delay']['description']
    assert described['priority'] == 500
    assert described['profile_types'] == ['os.nova.server-1.0']
