"""The options of [worker]."""

import pytest

from tests.config_files import default_options


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('workers', 0),
        ('threads', 0),
        ('max_deliveries', 51),
        ('liveness_poll_age_s', 7),
        ('reply_to_allowed', ['a b']),
        ('max_request_bytes', 1023),
    ],
)
def test_option_with_a_value_out_of_range_is_refused(name, value):
    """A value that cannot work is reported when the worker starts."""
    conf = default_options()

    with pytest.raises(ValueError, match=r'.+'):
        conf.set_override(name, value, group='worker')
