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


def test_destination_of_replies_with_a_space_is_refused():
    """A list of patterns that was separated by spaces is reported when the worker starts."""
    with pytest.raises(ValueError, match='a b'):
        default_options().set_override('reply_to_allowed', ['a b'], group='worker')


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
