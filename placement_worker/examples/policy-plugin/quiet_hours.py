"""A policy type that refuses to delete nodes in the quiet hours (UTC)."""

from msgspec import Struct, field

from placement_worker.contract.model import CheckRequest
from placement_worker.errors import Rejected
from placement_worker.policies.base import BEFORE, Outcome, Policy, State, on, skipped


class Hours(Struct, frozen=True, forbid_unknown_fields=True):
    """Properties of example.policy.quiet_hours-1.0."""

    start: int = field(name='from')
    end: int = field(name='to')


class HoursOfDays(Hours, frozen=True):
    """Properties of example.policy.quiet_hours-1.1."""

    weekends: bool = True


class QuietHours(Policy[Hours]):
    """Refuse to delete nodes in the quiet hours."""

    interface = (2, 0)
    name = 'example.policy.quiet_hours'
    versions = {'1.0': Hours, '1.1': HoursOfDays}
    priority = 50
    targets = on(BEFORE, 'CLUSTER_SCALE_IN', 'CLUSTER_RECOVER')

    def check(self, request: CheckRequest, state: State) -> Outcome:
        hours, now = self.properties, state.now
        if isinstance(hours, HoursOfDays) and not hours.weekends and now.weekday() > 4:
            return skipped('The quiet hours do not apply to weekends.')
        if not hours.start <= now.hour < hours.end:
            return skipped(f'{now.hour} is not between {hours.start} and {hours.end}.')
        raise Rejected(f"Quiet hours until {hours.end} o'clock")
