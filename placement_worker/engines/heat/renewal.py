"""The order in which a rolling update renews members."""

from collections import Counter
from collections.abc import Mapping, Sequence

from placement_worker.engines.heat.members import Member


def names_in_order(
    members: Sequence[Member],
    weights: Mapping[str, int],
    zones: Mapping[str, str | None],
    created: Sequence[str],
) -> list[str]:
    """Return the names of the members that stay, those to renew first at the beginning.

    If Heat adds members for the update, it removes as many at the end, and outdated ones leave
    first. The last ones in this order are therefore those that the new members make superfluous in
    their zones, so that the zones are balanced at the end.

    :param zones: the zone of each member after the change by name.
    :param created: the names of the new members.
    """
    held = Counter(zones[name] for name in created)
    staying = [member for member in members if member.name in zones]
    shares = {}
    for member in sorted(staying, key=lambda member: member.is_outdated):
        zone = zones[member.name]
        weight = weights.get(zone, 0) if zone else 0
        shares[member.name] = (2 * held[zone] + 1) / weight if weight else float('inf')
        held[zone] += 1
    staying.sort(key=lambda member: (not member.failed, shares[member.name]))
    return [member.name for member in staying]
