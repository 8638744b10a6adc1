"""Fixtures of the client's tests."""

import pytest
from oslo_config import cfg

from placement_worker import config


@pytest.fixture
def conf():
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf([], default_config_files=[])
    return conf
