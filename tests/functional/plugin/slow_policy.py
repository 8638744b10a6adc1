"""A policy type for tests that sleeps, fails or kills its process, and logs each run."""

import os
import signal
import time

from msgspec import Struct

from placement_worker.policies.base import AFTER, BEFORE, Outcome, Policy, on


class SlowProperties(Struct, frozen=True, forbid_unknown_fields=True):
    """The duration of a run, the file that logs the runs, and the faults to inject.

    `until`: a file that ends the run when it exists. `signal`, `status`: end the process.
    """

    seconds: float
    runs: str = os.devnull
    until: str = ''
    exits: bool = False
    signal: int = 0
    status: int = 0
    fails: bool = False
    strange: bool = False


class Slow(Policy[SlowProperties]):
    interface = (2, 0)
    name = 'test.policy.slow'
    versions = {'1.0': SlowProperties}
    priority = 100
    targets = on(BEFORE, 'CLUSTER_SCALE_OUT') | on(AFTER, 'CLUSTER_SCALE_OUT')

    def check(self, request, state):
        with open(self.properties.runs, 'a') as runs:
            runs.write(f'{request.action.id}\n')
        if self.properties.signal:
            signal.raise_signal(self.properties.signal)  # in this thread, so at once
        if self.properties.status:
            os._exit(self.properties.status)
        if self.properties.exits:
            raise SystemExit(3)
        if self.properties.fails:
            raise RuntimeError(object(), {1, 2}, b'\xff')
        time.sleep(self.properties.seconds)
        while self.properties.until and not os.path.exists(self.properties.until):
            time.sleep(0.02)
        return Outcome(
            'APPLIED', 'slept', details={'strange': object()} if self.properties.strange else {}
        )
