"""Tests for the load balancer that the properties describe."""

import pytest

from tests.factories import bind, load_balancing_policy


def shown(found, *keys):
    return {key: found[key] for key in keys}


def test_omitted_properties_are_not_sent_to_octavia(lab):
    """Properties without a value are not sent, so that Octavia's defaults apply."""
    lab.attach(bind(load_balancing_policy(pool={'session_persistence': {'type': 'NONE'}})))

    made = lab.settled()
    assert made['healthmonitor'] == []
    assert 'session_persistence' not in made['pool'][0]
    assert not {'flavor_id', 'availability_zone', 'vip_network_id'} & made['loadbalancer'][0].keys()


@pytest.mark.parametrize('persistence', ['SOURCE_IP', 'HTTP_COOKIE', 'NONE'])
@pytest.mark.parametrize('monitor', ['PING', 'TCP'])
def test_options_that_octavia_refuses_for_a_type_are_not_sent(lab, persistence, monitor):
    """A cookie name and options of HTTP are valid with any type, and sent only where they apply."""
    policy = load_balancing_policy(
        pool={'session_persistence': {'type': persistence, 'cookie_name': 'whatever'}},
        health_monitor={
            'type': monitor, 'http_method': 'GET', 'url_path': '/index.html',
            'expected_codes': '200, 202',
        },
    )  # fmt: skip

    reply = lab.attach(bind(policy))

    made = lab.settled()
    assert reply['status'] == 'OK'
    assert made['pool'][0].get('session_persistence') == (
        None if persistence == 'NONE' else {'type': persistence}
    )
    assert not {'http_method', 'url_path', 'expected_codes'} & made['healthmonitor'][0].keys()


def test_delay_in_milliseconds_is_sent_with_a_warning(lab):
    """The health monitor of Senlin's example is created unchanged, and the reply has a warning."""
    reply = lab.attach(
        bind(load_balancing_policy(health_monitor={'delay': 10000, 'timeout': 5000}))
    )

    assert shown(lab.settled()['healthmonitor'][0], 'delay', 'timeout') == {
        'delay': 10000,
        'timeout': 5000,
    }
    assert (reply['status'], reply['warnings']) == (
        'OK',
        [
            'The health monitor has a delay of 10000 s and a timeout of 5000 s; Octavia expects '
            'seconds, so check that the values are not in milliseconds.'
        ],
    )


def test_options_of_http_are_sent_for_https(lab):
    """A health monitor of type HTTPS gets the options of HTTP, which Senlin drops."""
    lab.attach(
        bind(
            load_balancing_policy(
                health_monitor={'type': 'HTTPS', 'url_path': '/up', 'expected_codes': 200}
            )
        )
    )

    assert shown(lab.settled()['healthmonitor'][0], 'url_path', 'expected_codes') == {
        'url_path': '/up', 'expected_codes': '200',
    }  # fmt: skip


@pytest.mark.parametrize(
    ('properties', 'reason'),
    [
        (
            {'vip': {'subnet': 'none'}},
            'Subnet none of `vip.subnet` does not exist in the cloud.',
        ),
        (
            {'vip': {'network': 'none'}, 'version': '1.2'},
            'Network none of `vip.network` does not exist in the cloud.',
        ),
    ],
)
def test_vip_at_an_unknown_subnet_or_network_creates_nothing(lab, properties, reason):
    """A subnet or network that the cloud lacks is named before anything is created."""
    reply = lab.attach(bind(load_balancing_policy(**properties)))

    assert (reply['status'], reply['reason']) == ('ERROR', reason)
    assert not any(call.writes for call in lab.calls)


def test_load_balancer_is_located_by_the_vip_and_named_by_the_cluster(lab):
    """The VIP may name subnet and network; a long name of the cluster is shortened."""
    vip = {'subnet': 'sub1', 'network': 'private', 'address': '10.0.0.77'}

    lab.attach(bind(load_balancing_policy(version='1.2', vip=vip), name='c' * 300))

    [lb] = lab.settled()['loadbalancer']
    assert shown(lb, 'vip_subnet_id', 'vip_network_id', 'vip_address') == {
        'vip_subnet_id': 'sub1', 'vip_network_id': 'net1', 'vip_address': '10.0.0.77',
    }  # fmt: skip
    assert lb['name'] == f'placement-worker-{"c" * 300}'[:255]
