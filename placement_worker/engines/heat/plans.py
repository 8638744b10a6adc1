"""The next content of a group: its victims, its new members, and the zone of each member.

Heat builds the template of a group to validate it, to preview it, and to change it. The decisions
stand here without Heat, so that tests need none; a worker chooses only while a group changes.
"""

import datetime
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

ZONE_PROPERTY = 'availability_zone'  # of OS::Nova::Server, and of a template that is a member
FAILED = 'FAILED'
# A resource that failed in one of these actions is always created again: `_needs_update` in
# heat/engine/resource.py, of Heat 27.
CREATED_AGAIN = ('CREATE', 'CHECK')


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group.

    :ivar zone: the availability zone in its definition; None if it has none.
    :ivar failed: whether its last action failed, and `reason` is the cause.
    :ivar needs_zone: whether Heat creates it again, for which another zone may be better.
    :ivar is_outdated: whether its definition differs from the current one of the group, apart from
        the zone.
    """

    name: str
    zone: str | None
    failed: bool = False
    reason: str | None = None
    needs_zone: bool = False
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    is_outdated: bool = False


def members_of(
    definitions: Mapping[str, Any], current: Any, rows: Iterable[Mapping[str, Any]]
) -> list[Member]:
    """Return the members in the order of their definitions.

    :param definitions: ResourceDefinitions of Heat by name, in Heat's own order of removal.
    :param rows: the resources of the nested stack; those with other names are ignored.
    """
    by_name = {row['resource_name']: row for row in rows}
    members = []
    for name, definition in definitions.items():
        zone = zone_of(definition)
        is_outdated = definition != in_zone(current, zone)
        members.append(member(name, zone, by_name.get(name, {}), is_outdated=is_outdated))
    return members


def member(
    name: str, zone: str | None, row: Mapping[str, Any], *, is_outdated: bool = False
) -> Member:
    failed = row.get('resource_status') == FAILED
    return Member(
        name,
        zone,
        failed=failed,
        reason=(row.get('resource_status_reason') or None) if failed else None,
        needs_zone=failed and row.get('resource_action') in CREATED_AGAIN,
        created_at=_time(row.get('creation_time')),
        updated_at=_time(row.get('updated_time')),
        is_outdated=is_outdated,
    )


def _time(text: str | None) -> datetime.datetime | None:
    return datetime.datetime.fromisoformat(text) if text else None


class Chooser(Protocol):
    def victims(self, members: Sequence[Member], count: int) -> Collection[str]:
        """Return the names of so many members, which are to leave."""

    def zones(self, members: Sequence[Member], count: int) -> Sequence[str]:
        """Return the zones of so many members to create.

        Members to create again are among the given ones and among those to create.
        """


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The next content of a group; `zones` has those of all members but the victims."""

    created: Sequence[str]
    zones: Mapping[str, str | None]


def plan(
    members: Sequence[Member], size: int, chooser: Chooser, new_name: Callable[[], str]
) -> GroupPlan:
    """Return the plan that brings a group to a size.

    Existing members keep their zones, except those that Heat creates again. A group that has the
    size already, without such members, needs no choice.
    """
    surplus = len(members) - size
    victims = chooser.victims(members, surplus) if surplus > 0 else []
    remaining = [member for member in members if member.name not in victims]
    created = [new_name() for _ in range(size - len(remaining))]
    to_place = [*(member.name for member in remaining if member.needs_zone), *created]
    zones = chooser.zones(remaining, len(to_place)) if to_place else []
    kept = {member.name: member.zone for member in remaining}
    return GroupPlan(created, {**kept, **dict(zip(to_place, zones, strict=True))})


class LocalChooser:
    """Choose victims in Heat's own order, and zones by their weights alone.

    This serves templates that Heat only checks, and rollbacks, which must succeed without a worker.
    """

    def __init__(self, zones: Sequence[Mapping[str, object]]) -> None:
        self._weights = weights_of(zones)

    def victims(self, members: Sequence[Member], count: int) -> list[str]:
        # Heat lists those to remove first at the beginning.
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
    return {
        str(zone['name']): weight if isinstance(weight := zone.get('weight'), int) else 100
        for zone in zones
    }


def renewal_order(
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


def zone_of(definition: Any) -> str | None:
    """Return the zone of a member (a ResourceDefinition of Heat), or None without one."""
    zone = _properties(definition).get(ZONE_PROPERTY)
    return zone if isinstance(zone, str) else None


def has_zone(definition: Any) -> bool:
    """Return whether a definition has the property, with whatever value."""
    return ZONE_PROPERTY in _properties(definition)


def in_zone(definition: Any, zone: str | None) -> Any:
    """Return a definition with another zone; the same definition if it has this zone."""
    if zone == zone_of(definition):
        return definition
    return definition.freeze(properties={**_properties(definition), ZONE_PROPERTY: zone})


def uses_zone(template: Mapping[str, Any]) -> bool:
    """Return whether a resource or a condition of a template uses the parameter.

    The names are those of HOT, and of templates in the format of CloudFormation.
    """
    sections = ('resources', 'conditions', 'Resources', 'Conditions')
    used = json.dumps([template.get(section) for section in sections], default=str)
    return re.search(rf'"(get_param|Ref)": \[?"{ZONE_PROPERTY}"', used) is not None


def _properties(definition: Any) -> dict[str, Any]:
    return definition.render_hot().get('properties') or {}
