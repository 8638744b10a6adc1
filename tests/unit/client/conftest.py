"""Fixtures of the client's tests."""

import pytest

from tests.config_files import default_options


@pytest.fixture
def conf():
    return default_options()
