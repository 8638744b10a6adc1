"""Fixtures of all tests: the installed policies, and decisions over an embedded cloud."""

import logging
from collections.abc import Callable
from typing import Any

import hypothesis
import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd import threading_backend
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.policies.plugin_checks import is_built_in
from placement_worker.policies.registry import Registry
from tests.failure_logs import pytest_runtest_makereport

__all__ = ['pytest_runtest_makereport']

threading_backend.choose()

# No example is timed, nor its generation: on a busy machine any may take longer than a fixed limit.
# All examples may share a fixture. A test must not name health checks of its own: these would count
# again, and failed on a slow machine.
untimed = hypothesis.settings(
    deadline=None,
    suppress_health_check=[
        hypothesis.HealthCheck.too_slow,
        hypothesis.HealthCheck.function_scoped_fixture,
    ],
)
hypothesis.settings.register_profile('untimed', untimed)
# --hypothesis-profile few: for another run, with other libraries or another Python. Tests that need
# more examples than others take a multiple of `settings.default.max_examples`.
hypothesis.settings.register_profile('few', untimed, max_examples=10)
hypothesis.settings.load_profile('untimed')

Check = Callable[..., Any]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Trace no test with random examples: coverage takes twice their time, and an example that
    reaches a branch by chance would hide that no other test reaches it.
    """
    if config.pluginmanager.hasplugin('_cov'):
        import coverage.control  # noqa: PLC0415  # environments of engines have none

        # pytest-cov starts coverage again after each test that it does not trace, and each start of
        # coverage 7.17 wraps os._exit again: after a thousand, a forked child exceeded the limit of
        # recursion, did not exit, and ran the tests of its parent.
        coverage.control.apply_patches = lambda *_: None
        for item in items:
            if item.get_closest_marker('hypothesis'):
                item.add_marker('no_cover')


@pytest.fixture(scope='session')
def registry() -> Registry:
    """Return the policy types of this package without those of installed plugins."""
    installed = Registry.installed().types.items()
    return Registry((name, policy) for name, policy in installed if is_built_in(policy))


@pytest.fixture(scope='session')
def check(registry: Registry) -> Check:
    """Return a function that decides a request over the given zones and regions."""

    def decide(
        request: Any, zones: Any = (), regions: Any = (), settings: Any = None, **more: Any
    ) -> Any:
        cloud = {
            'zones': zones if isinstance(zones, dict) else dict.fromkeys(zones, True),
            'regions': regions if isinstance(regions, dict) else list(regions),
            **more,
        }
        inventory = Inventory.parse(cloud, 'test')
        return Endpoints(inventory, registry, settings or WorkerSettings()).policy_check(request)

    return decide


@pytest.fixture(autouse=True)
def restored_levels():
    """Restore the levels of loggers, which commands and logging configurations change."""
    loggers = [logging.root, *logging.Logger.manager.loggerDict.values()]
    levels = {logger: logger.level for logger in loggers if isinstance(logger, logging.Logger)}
    yield
    for logger in [logging.root, *logging.Logger.manager.loggerDict.values()]:
        level = levels.get(logger, logging.NOTSET)
        if isinstance(logger, logging.Logger) and logger.level != level:
            logger.setLevel(level)
