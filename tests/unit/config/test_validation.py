"""The validation of options and timeouts."""

import pytest
from oslo_config import cfg

from placement_worker import config
from placement_worker.config import validation
from placement_worker.errors import ConfigurationError
from tests.config_files import Options, default_options


@pytest.fixture
def conf():
    """A configuration with the defaults."""
    config.set_defaults()
    return default_options()


def test_validate_accepts_the_defaults(conf):
    """A worker starts without any option of its own."""
    validation.validate(conf)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'topic': ''}, 'topic is empty'),
        ({'slow_topic': ''}, 'slow_topic is empty'),
        ({'topic': 't', 'slow_topic': 't'}, 'topic and slow_topic must differ, both are t'),
        ({'topic': 't', 'slow_topic': 't-suspects'}, 't-suspects is the isolation queue'),
        ({'topic': 't', 'slow_topic': 't-parked'}, 't-parked is the isolation queue'),
    ],
)
def test_validate_options_with_clashing_topics_raises(conf, options, message):
    """No topic takes the requests of another queue."""
    for name, value in options.items():
        conf.set_override(name, value, group='worker')

    with pytest.raises(ConfigurationError, match=message):
        validation.validate_options(conf)


@pytest.mark.parametrize(
    ('text', 'option'),
    [
        ('[metrics]\nport = x\n', r'\[metrics\] port'),
        ('[DEFAULT]\ngraceful_shutdown_timeout = x\n', r'\[DEFAULT\] graceful_shutdown_timeout'),
    ],
)
def test_validate_options_with_an_invalid_value_names_the_section(conf, tmp_path, text, option):
    """The sections have options of the same name, so an error names the section as well."""
    file = tmp_path / 'worker.conf'
    file.write_text(text)
    conf(['--config-file', str(file)])

    with pytest.raises(cfg.ConfigFileValueError, match=f'^Value for option {option} from '):
        validation.validate_options(conf)


@pytest.mark.parametrize(
    ('group', 'name', 'value', 'message'),
    [
        (None, 'graceful_shutdown_timeout', 600, r'engine_timeout_s \(600 s\) must be less than'),
        (None, 'graceful_shutdown_timeout', 0, r'graceful_shutdown_timeout \(endless\) must be'),
        ('worker', 'consumer_timeout_s', 900, r'must be less than \[worker\] consumer_timeout_s'),
        ('cloud', 'lookup_budget_s', 600, r'lookup_budget_s \(600.0 s\) must be less than'),
        ('worker', 'liveness_request_age_s', 600, r'\[worker\] liveness_request_age_s \(600 s\)'),
    ],
)
def test_validate_timeouts_out_of_order_raises(conf, group, name, value, message):
    """Each timeout exceeds the timeouts nested inside it."""
    conf.set_override(name, value, group=group)

    with pytest.raises(ConfigurationError, match=message):
        validation.validate_timeouts(conf)


def test_validate_timeouts_of_an_embedded_cloud_ignores_the_lookup_budget(conf):
    """An embedded cloud has no lookups that take time."""
    conf.set_override('backend', 'inventory', group='cloud')
    conf.set_override('lookup_budget_s', 6000, group='cloud')

    validation.validate_timeouts(conf)


def test_validate_files_reads_the_current_content(tmp_path):
    """A file that became invalid is reported before it changes a running worker."""
    file = tmp_path / 'a.conf'
    file.write_text('[worker]\nthreads = 3\n')
    config.set_defaults()
    conf = Options()
    config.register(conf)
    conf(['--config-file', str(file)])
    file.write_text('[worker]\nthreads = many\n')

    with pytest.raises(cfg.ConfigFileValueError):
        validation.validate_files(conf)

    assert conf.worker.threads == 3
