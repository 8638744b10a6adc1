"""The next content of a group: its victims, its new members, and the zone of each member."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from placement_worker.engines.heat.members import Member


class Chooser(Protocol):
    """A way to choose victims and zones."""

    def victims(self, members: Sequence[Member], count: int) -> Collection[str]:
        """Return the names of so many members, which are to leave."""

    def zones(self, members: Sequence[Member], count: int) -> Sequence[str]:
        """Return the zones of so many members to create.

        Members to create again are among the given ones and among those to create.
        """


@dataclass(frozen=True, slots=True)
class Plan:
    """The next content of a group.

    :ivar victims: the names of the members that leave.
    :ivar created: the names of the new members.
    :ivar zones: the zone of each other member by name.
    """

    victims: Collection[str]
    created: Sequence[str]
    zones: Mapping[str, str | None]


def plan(
    members: Sequence[Member], size: int, chooser: Chooser, new_name: Callable[[], str]
) -> Plan:
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
    return Plan(victims, created, {**kept, **dict(zip(to_place, zones, strict=True))})
