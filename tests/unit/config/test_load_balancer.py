"""The options of [load_balancer]."""

import pytest

from tests.config_files import default_options


@pytest.mark.parametrize(
    ('name', 'value'), [('poll_initial_s', 0), ('poll_max_s', 0.01), ('max_attempts', 0)]
)
def test_option_with_a_value_out_of_range_is_refused(name, value):
    """A value that cannot work is reported when the worker starts."""
    conf = default_options()

    with pytest.raises(ValueError, match=r'.+'):
        conf.set_override(name, value, group='load_balancer')
