"""Fixtures of the client's tests."""

import pytest
from oslo_config import cfg

from placement_worker.config import options


@pytest.fixture
def conf():
    conf = cfg.ConfigOpts()
    options.register(conf)
    conf([], default_config_files=[])
    return conf
