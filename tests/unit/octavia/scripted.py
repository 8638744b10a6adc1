"""An Octavia and changes that return scripted results."""

from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.cloud.time_budget import TimeBudget
from placement_worker.octavia.updater import Updater


class Scripted:
    """An Octavia that shows load balancers in scripted states; the last state repeats."""

    def __init__(self, *states):
        self.states = list(states)

    def show(self, kind, object_id):
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if isinstance(state, Exception):
            raise state
        return {'id': object_id, 'provisioning_status': state}


class ScriptedChange:
    """A change whose first attempts raise errors."""

    def __init__(self, *errors, done=False):
        self.errors = list(errors)
        self.done = done
        self.attempts = 0
        self.looked_up_after = []

    def send(self, updater):
        self.attempts += 1
        if self.errors:
            raise self.errors.pop(0)

    def is_done(self, updater):
        self.looked_up_after.append(self.attempts)
        return self.done


def updater(clock, *states, timeout_s=300, left_s=float('inf'), seed='s', **options):
    """Return an updater over scripted states."""
    settings = OctaviaSettings(**options, sleep=clock.sleep, clock=clock)
    return Updater(Scripted(*states), settings, TimeBudget(timeout_s, clock, lambda: left_s), seed)
