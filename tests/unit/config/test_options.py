"""The options of the worker: their registration, defaults and bounds."""

import pytest

from placement_worker.config import options
from tests.config_files import default_options


def test_defaults_need_no_file_and_record_nothing():
    """A worker starts without options, and keeps no cordons, decisions or metrics by default."""
    conf = default_options()

    assert conf.worker.topic == 'placement-worker'
    assert conf.cloud.backend == 'openstack'
    assert conf.load_balancer.batch_members
    assert (conf.metrics.port, conf.decision_log.file, conf.placement.cordon_file) == (None,) * 3


@pytest.mark.parametrize(
    ('group', 'name', 'value'),
    [
        ('cloud', 'backend', 'aws'),
        ('cloud', 'validity_ttl_s', -1),
        ('cloud', 'max_sessions', 0),
        ('cloud', 'max_attempts', 0),
        ('load_balancer', 'poll_initial_s', 0),
        ('load_balancer', 'poll_max_s', 0.01),
        ('load_balancer', 'max_attempts', 0),
        ('metrics', 'port', 0),
        ('metrics', 'port', 65536),
        ('metrics', 'address', '-'),
        ('worker', 'workers', 0),
        ('worker', 'threads', 0),
        ('worker', 'max_deliveries', 51),
        ('worker', 'liveness_poll_age_s', 7),
        ('worker', 'reply_to_allowed', ['a b']),
        ('worker', 'max_request_bytes', 1023),
    ],
)
def test_option_with_a_value_out_of_range_is_refused(group, name, value):
    """A value that cannot work is reported when the worker starts."""
    with pytest.raises(ValueError, match=r'.+'):
        default_options().set_override(name, value, group=group)


def test_list_opts_describes_every_option_of_each_group_once():
    """The sample and the manual have all options, those of the service user included."""
    listed = options.list_opts()

    assert [group for group, _ in listed] == [
        'worker', 'cloud', 'load_balancer', 'placement', 'metrics', 'decision_log', 'service_auth'
    ]  # fmt: skip
    assert [one.name for _, declared in listed for one in declared if not one.help] == []


def test_sample_of_service_auth_leaves_out_scopes_without_effect():
    """A token is for the project of a trust or of the service user."""
    listed = {one.dest: one for one in dict(options.list_opts())[options.SERVICE_AUTH]}

    assert {'auth_url', 'username', 'password', 'cafile', 'region_name'} <= set(listed)
    assert not set(listed) & {'trust_id', 'system_scope', 'domain_id'}
    # keystoneauth's own text states the opposite of the value.
    assert listed['insecure'].default is False
    assert listed['insecure'].help == 'Do not verify the certificates of HTTPS connections.'
