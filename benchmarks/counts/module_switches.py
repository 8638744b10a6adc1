"""Switches between modules of this project while one request is handled.

A switch is a call of a Python function of the project in another module than the previous such
call. The fewer switches there are, the straighter is the path of a request. Methods that
dataclasses generate do not count. The embedded cloud stands in for remote services; each count is
given without it and with it.

python -m benchmarks.counts.module_switches            # all counts
python -m benchmarks.counts.module_switches --trace    # every switch, to find detours
"""

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import placement_worker
from benchmarks.counts.cloud_requests import CLOUD as NETWORKS
from benchmarks.counts.count import Count
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.registry import Registry
from tests.factories import (
    bind,
    connected,
    load_balancing_policy,
    nodes,
    request,
    zone_policy,
)
from tests.simulated_octavia import Clock

PACKAGE = str(Path(placement_worker.__file__).parent)
EMBEDDED_CLOUD = str(Path(PACKAGE, 'cloud', 'embedded'))
ZONES = ('az1', 'az2')
CLOUD = {'zones': dict.fromkeys(ZONES, True), **NETWORKS}
Step = tuple[str, str]
"""The file and the name of a function that was called."""


def counted() -> list[Count]:
    """Count the switches of one check and of one attachment."""
    return [Count(f'module switches of {what}', len(found)) for what, found in _switches().items()]


def _without_cloud(steps: list[Step]) -> list[Step]:
    return [step for step in steps if not step[0].startswith(EMBEDDED_CLOUD)]


def _switches() -> dict[str, list[Step]]:
    registry = Registry.installed()
    check = _profile(lambda: _check(registry))
    attachment = _profile(lambda: _attachment(registry))
    return {
        'a check': _between_modules(_without_cloud(check)),
        'a check with its embedded cloud': _between_modules(check),
        'an attachment': _between_modules(_without_cloud(attachment)),
        'an attachment with its embedded cloud': _between_modules(attachment),
    }


def _check(registry: Registry) -> Callable[[], Any]:
    """Return a scale-out by two nodes under zone placement."""
    endpoints = Endpoints(Inventory.parse(CLOUD, 'the cloud'), registry)
    asked = request('CLUSTER_SCALE_OUT', [zone_policy(*ZONES)], nodes(az1=2), inputs={'count': 2})
    return lambda: endpoints.policy_check(asked)


def _attachment(registry: Registry) -> Callable[[], Any]:
    """Return an attachment of a load balancer with four members, on a clock that never sleeps."""
    clock = Clock()
    cloud = Inventory.parse(CLOUD, 'the cloud')
    endpoints = Endpoints(
        cloud,
        registry,
        octavia_settings=lambda: OctaviaSettings(sleep=clock.sleep, clock=clock),
        clock=clock,
    )
    asked = bind(load_balancing_policy(), [connected(number) for number in range(1, 5)])
    return lambda: endpoints.policy_attach(asked)


def _profile(prepare: Callable[[], Callable[[], Any]]) -> list[Step]:
    """Return the steps of a second run, since the first run fills caches."""
    prepare()()
    act = prepare()
    steps: list[Step] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        file = frame.f_code.co_filename
        if event == 'call' and file.startswith(PACKAGE):
            steps.append((file, frame.f_code.co_name))

    sys.setprofile(note)
    try:
        reply = act()
    finally:
        sys.setprofile(None)
    assert 'ERROR' not in str(reply), reply
    return steps


def _between_modules(steps: list[Step]) -> list[Step]:
    """Return the first step after each change of the module."""
    return [after for before, after in itertools.pairwise(steps) if before[0] != after[0]]


def main() -> None:
    """Print the counts, and the switches themselves with --trace."""
    for what, found in _switches().items():
        print(f'{len(found)} module switches of {what}')
        for number, (file, function) in enumerate(found if '--trace' in sys.argv else (), start=1):
            print(f'{number:6} {Path(file).relative_to(PACKAGE)}: {function}')


if __name__ == '__main__':
    main()
