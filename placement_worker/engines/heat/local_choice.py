"""The choice without a worker: for templates that Heat only checks, and for rollbacks."""

from collections import Counter
from collections.abc import Mapping, Sequence

from placement_worker.engines.heat.members import Member

DEFAULT_WEIGHT = 100


class LocalChooser:
    """Choose victims in Heat's own order, and zones by their weights alone."""

    def __init__(self, zones: Sequence[Mapping[str, object]]) -> None:
        """Set the zones of the property `placement`."""
        self._weights = weights_of(zones)

    def victims(self, members: Sequence[Member], count: int) -> list[str]:
        """Return the first members: Heat lists those to remove first at the beginning."""
        return [member.name for member in members[:count]]

    def zones(self, members: Sequence[Member], count: int) -> list[str]:
        """Return for each member the zone that is farthest below its share of the others.

        :source: https://en.wikipedia.org/wiki/Sainte-Laguë_method
        """
        if not self._weights:  # they come from another resource, which does not exist yet
            return [''] * count
        held = Counter(member.zone for member in members if not member.needs_zone)
        chosen = []
        for _ in range(count):
            zone = max(self._weights, key=lambda name: self._weights[name] / (2 * held[name] + 1))
            held[zone] += 1
            chosen.append(zone)
        return chosen


def weights_of(zones: Sequence[Mapping[str, object]]) -> dict[str, int]:
    """Return the weight of each zone of the property `placement` by name."""
    return {str(zone['name']): _weight(zone) for zone in zones}


def _weight(zone: Mapping[str, object]) -> int:
    weight = zone.get('weight')
    return weight if isinstance(weight, int) else DEFAULT_WEIGHT
