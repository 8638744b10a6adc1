"""The options of heat.conf."""

import pytest
from oslo_config import cfg

from placement_worker.engines.heat import options


def test_options_are_registered_in_their_group():
    """Heat's configuration has the options, and no broker by default."""
    conf = cfg.ConfigOpts()
    options.register(conf)
    conf([])

    assert conf.placement_worker.transport_url is None
    assert conf.placement_worker.validate_timeout_s < conf.placement_worker.timeout_s


@pytest.mark.parametrize('option', [one for one in options.OPTIONS if one.name.endswith('_s')])
def test_timeout_of_zero_is_refused(option):
    """A timeout is at least one second."""
    with pytest.raises(ValueError, match='greater than or equal to 1'):
        option.type('0')


def test_options_are_listed_for_the_sample():
    """The sample of heat.conf has all options."""
    assert options.list_opts() == [('placement_worker', options.OPTIONS)]
