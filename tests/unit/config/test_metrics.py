"""The options of [metrics]."""

import pytest

from tests.config_files import default_options


@pytest.mark.parametrize(('name', 'value'), [('port', 0), ('port', 65536), ('address', '-')])
def test_option_with_a_value_out_of_range_is_refused(name, value):
    """A value that cannot work is reported when the worker starts."""
    conf = default_options()

    with pytest.raises(ValueError, match=r'.+'):
        conf.set_override(name, value, group='metrics')
