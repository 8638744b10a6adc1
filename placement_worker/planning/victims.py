"""The victims of a deletion: order all nodes, leave out protected ones, take as many as planned.

The order depends on the nodes and the id of the action alone, so that a repeated check names the
same victims. Placement policies say how many nodes leave each place (`RemovalCounts`). The second
part of the module reads protections: users protect nodes by metadata, engines and policies by data.
"""

import datetime
import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import Any, Literal, Self

import msgspec
from msgspec import Struct

from placement_worker.contract.action_data import Deletion, PlaceCount
from placement_worker.contract.model import Node, NodePatch, in_utc
from placement_worker.contract.values import value_text
from placement_worker.errors import NoFeasiblePlan
from placement_worker.formats.text import counted, day_or_time, listed, shortened
from placement_worker.planning.places import NO_PLACE

Criteria = Literal['RANDOM', 'OLDEST_FIRST', 'OLDEST_PROFILE_FIRST', 'YOUNGEST_FIRST']
PlannedPlace = tuple[str, ...]  # a zone, a region, or both as (region, zone)
UNKNOWN: PlannedPlace = ()  # the location of nodes whose place is unknown
FAILING = frozenset({'ERROR', 'WARNING'})
PROTECTED = 'protected'  # the key in the metadata and in the data of a node
ALL_PROTECTED = 'All nodes are protected.'
# The reason of a healthy victim that a placement policy planned to delete from no known place.
_PLACE_UNKNOWN = 'place unknown'
GROUPS = _UNHEALTHY, _NEVER_CREATED, _HEALTHY = range(3)  # in the order in which they leave
_REASONS = {_UNHEALTHY: 'unhealthy', _NEVER_CREATED: 'never created'}
_CRITERION = {
    'RANDOM': 'random',
    'OLDEST_FIRST': 'oldest',
    'OLDEST_PROFILE_FIRST': 'oldest profile',
    'YOUNGEST_FIRST': 'youngest',
}
# Where a new node stands among the victims: last (1), next (-1), or anywhere (0).
NEW_NODE = {'RANDOM': 0, 'OLDEST_FIRST': 1, 'OLDEST_PROFILE_FIRST': 1, 'YOUNGEST_FIRST': -1}
_EXPECTED = '`true`, `false`, a time in ISO 8601, or `{until, reason}`'
_LISTED = 10  # protected nodes that a sentence names
_NUMBER = re.compile('[0-9]{9,}')
_WORDS = {'true': True, 'false': False}
_KEYS = {'until', 'reason'}


@dataclass(frozen=True)
class Members:
    """The nodes of a cluster in the order in which they leave, for all policies of a check.

    Unhealthy nodes come first, then nodes that were never created, then healthy nodes by criteria.
    Ties are broken by index, then id.

    :ivar criteria: those of the enabled deletion policy, which may run in other actions only.
    :ivar seed: of the random order; the same seed and node ids give the same order.
    """

    nodes: Sequence[Node] = ()
    criteria: Criteria = 'RANDOM'
    seed: str = ''

    @cached_property
    def groups(self) -> tuple[list[Node], list[Node], list[Node]]:
        """The unhealthy, the never created and the healthy nodes."""
        groups: tuple[list[Node], list[Node], list[Node]] = ([], [], [])
        for node in self.nodes:
            groups[group_of(node)].append(node)
        return groups

    @cached_property
    def marked(self) -> list[Node]:
        """The nodes whose metadata or data may protect them."""
        return [node for node in self.nodes if node.metadata is not None or PROTECTED in node.data]

    @cached_property
    def ordered(self) -> list[Node]:
        unhealthy, never_created, healthy = (
            sorted(group, key=attrgetter('index', 'id')) for group in self.groups
        )
        return [*unhealthy, *never_created, *_by_criteria(healthy, self.criteria, self.seed)]

    @cached_property
    def ranks(self) -> dict[str, int]:
        """The ranks of healthy nodes by id, ascending; none if victims are chosen at random."""
        if self.criteria == 'RANDOM':
            return {}
        first = len(self.nodes) - len(self.groups[_HEALTHY])
        return {node.id: rank for rank, node in enumerate(self.ordered) if rank >= first}


def group_of(node: Node) -> int:
    if node.tainted or node.status in FAILING:
        return _UNHEALTHY
    return _NEVER_CREATED if node.created_at is None else _HEALTHY


def _by_criteria(nodes: Sequence[Node], criteria: Criteria, seed: str) -> list[Node]:
    if criteria == 'RANDOM':
        return sorted(nodes, key=_random_key(seed))
    time_of = attrgetter(
        'profile_created_at' if criteria == 'OLDEST_PROFILE_FIRST' else 'created_at'
    )
    youngest_first = criteria == 'YOUNGEST_FIRST'
    # A missing time is the oldest.
    oldest = datetime.datetime.min
    return sorted(nodes, key=lambda node: in_utc(time_of(node) or oldest), reverse=youngest_first)


def _random_key(seed: str) -> Callable[[Node], bytes]:
    # The order must be the same on every machine.
    start = hashlib.blake2b(seed.encode() + b'\0', digest_size=8)

    def key(node: Node) -> bytes:
        hashed = start.copy()
        hashed.update(node.id.encode())
        return hashed.digest()

    return key


class RemovalCounts(Struct, frozen=True):
    """Location -> number of nodes to delete there; None if no policy planned.

    A location is (region,), (zone,) or, for a plan by region and zone, (region, zone). In such a
    plan (region,) stands for the nodes of the region whose zone is unknown. For an `undivided`
    region, one without usable zones, it stands for all of its nodes.
    """

    by_location: Mapping[PlannedPlace, int] | None
    by_region: bool = False
    by_zone: bool = False
    undivided: frozenset[str] = frozenset()

    @classmethod
    def planned_in(cls, deletion: Deletion, count: int) -> Self:
        """Read the counts from `places` of a deletion, else its `regions`, else its `zones`.

        :raises InvalidInput: the plan is malformed, or deletes more than `count` nodes.
        """
        regions, zones, places = deletion.regions, deletion.zones, deletion.places
        counts = cls(None)
        if places is not None:
            counts = cls._of_places(places, regions or {})
        elif regions is not None:
            counts = cls({(name,): number for name, number in regions.items()}, by_region=True)
        elif zones is not None:
            counts = cls({(name,): number for name, number in zones.items()}, by_zone=True)
        deletion.check_total(sum((counts.by_location or {}).values()), count)
        return counts

    @classmethod
    def _of_places(cls, places: Iterable[PlaceCount], regions: Mapping[str, int]) -> Self:
        divided: Counter[tuple[str, str]] = Counter()
        whole: Counter[str] = Counter()
        for region, zone, count in places:
            if zone is None:
                whole[region] += count
            else:
                divided[region, zone] += count
        # The part of a region's count that its zones do not cover belongs to its nodes of unknown
        # zone.
        left = {**whole, **regions}
        for (region, _), count in divided.items():
            if region in regions:
                left[region] -= count
        by_location: dict[PlannedPlace, int] = {
            (region,): count for region, count in left.items() if count > 0
        }
        by_location.update(divided.items())
        undivided = frozenset(whole) - {region for region, _ in divided}
        return cls(by_location, by_region=True, by_zone=True, undivided=undivided)

    @property
    def unknown(self) -> frozenset[PlannedPlace]:
        """The locations of nodes whose region, or whose zone within a region, is unknown."""
        if not (self.by_region and self.by_zone):
            return frozenset({UNKNOWN})
        regions = (place for place in self.by_location or () if len(place) == 1)
        return frozenset({UNKNOWN, *(place for place in regions if place[0] not in self.undivided)})

    def location(self, region: str | None, zone: str | None) -> PlannedPlace:
        if self.by_region and self.by_zone:
            if region is None:
                return UNKNOWN
            return (region,) if zone is None or region in self.undivided else (region, zone)
        known = region if self.by_region else zone
        return UNKNOWN if known is None else (known,)


class Choice(Struct, frozen=True):
    """The victims in the order of the reply, and the other nodes in the order of preference.

    `unplaced`: the ids of the victims that were chosen because their place is unknown.
    """

    victims: Sequence[Node]
    spared: Sequence[Node]
    unplaced: frozenset[str] = frozenset()
    protected: Mapping[str, 'Protection'] = msgspec.field(default_factory=dict)


def choose(
    free: Sequence[Node],
    count: int,
    counts: RemovalCounts,
    locations: Mapping[str, PlannedPlace],
    protected: Mapping[str, 'Protection'],
) -> Choice:
    """Choose the first `count` nodes, from each location as many as its removal count says.

    If the removal counts add up to less than `count`, the rest comes from nodes of unknown place.
    Without removal counts, the place does not matter and `count` may exceed the number of nodes. A
    location gives fewer victims than its removal count if its other nodes are protected.

    :param free: the unprotected nodes, in the order in which they leave.
    :param locations: node id -> location, of protected nodes, too.
    :raises NoFeasiblePlan: a location holds fewer nodes than are to leave it.
    """
    if counts.by_location is None:
        return Choice(free[:count], free[count:], protected=protected)
    held: defaultdict[PlannedPlace, list[Node]] = defaultdict(list)
    for node in free:
        held[locations[node.id]].append(node)
    planned = {UNKNOWN: max(0, count - sum(counts.by_location.values())), **counts.by_location}
    leaving = {location: held[location][:number] for location, number in sorted(planned.items())}
    for location, nodes in leaving.items():
        if len(nodes) < planned[location]:
            # Protection may leave a rest that no node of unknown place must make up for.
            staying = [
                node_id for node_id in protected if location in (UNKNOWN, locations.get(node_id))
            ]
            if len(nodes) + len(staying) < planned[location]:
                raise _too_few_nodes(location, planned[location], len(nodes) + len(staying))
    unknown = counts.unknown
    unplaced = frozenset(node.id for location in unknown for node in leaving.get(location, ()))
    chosen = _in_rounds(leaving, unknown)
    ids = {node.id for node in chosen}
    return Choice(chosen, [node for node in free if node.id not in ids], unplaced, protected)


def _too_few_nodes(location: PlannedPlace, leaving: int, held: int) -> NoFeasiblePlan:
    name = ' / '.join(map(shortened, location)) if location else NO_PLACE
    return NoFeasiblePlan(
        f'{counted(leaving, "node")} {"is" if leaving == 1 else "are"} to leave {name}, which '
        f'holds {held}.'
    )


def _in_rounds(
    leaving: Mapping[PlannedPlace, Sequence[Node]], unknown: Collection[PlannedPlace]
) -> list[Node]:
    """Order the victims by group, and within a group take one place after the other.

    An engine or a health floor may stop half way. The fuller a place is with victims, the earlier
    its first one stands, so that the cluster stays as even as it can.
    """
    ordered = []
    for location, nodes in leaving.items():
        after = Counter(map(group_of, nodes))  # the victims from here to the end
        for node in nodes:
            group = group_of(node)
            order = 0 if location in unknown else -after[group]
            ordered.append(((group, location not in unknown, order, location), node))
            after[group] -= 1
    return [node for _, node in sorted(ordered, key=itemgetter(0))]


def reason(node: Node, criteria: Criteria, unplaced: Collection[str] = (), place: str = '') -> str:
    """Return one of a few phrases that can be counted.

    :param place: the place among whose nodes the criteria chose a victim; empty to omit it.
    """
    group = group_of(node)
    if group != _HEALTHY:
        return _REASONS[group]
    if node.id in unplaced:
        return _PLACE_UNKNOWN
    return f'{_CRITERION[criteria]} in {place}' if place else _CRITERION[criteria]


def reason_counts(choice: Choice, criteria: Criteria) -> dict[str, int]:
    reasons = Counter(reason(node, criteria, choice.unplaced) for node in choice.victims)
    return dict(sorted(reasons.items()))


# Protection of nodes.


@dataclass(frozen=True, slots=True)
class Protection:
    """The protection of a node that must not be deleted.

    `until`: None if the protection does not end by itself. `invalid`: the value if it cannot be
    parsed, as an error shows it, else an empty string.
    """

    until: datetime.datetime | None = None
    reason: str = ''
    invalid: str = ''

    def __str__(self) -> str:
        until = f' until {day_or_time(self.until)}' if self.until else ''
        reason = f' ({shortened(self.reason)})' if self.reason else ''
        return f'protected{until}{reason}'

    @property
    def details(self) -> dict[str, str]:
        return {'until': day_or_time(self.until) if self.until else '', 'reason': self.reason}


def parse_protection(value: object) -> Protection | None:
    """A value that cannot be parsed protects: the user who wrote it wanted to keep the node.

    Engines store metadata as strings, so a string may hold any of the other forms.
    """
    try:
        return _parsed(_plain(value))
    except (ValueError, RecursionError):  # RecursionError: deeply nested JSON in a string
        return Protection(invalid=value_text(value))


def protections_in_force(
    nodes: Iterable[Node], patches: Mapping[str, NodePatch], now: datetime.datetime
) -> dict[str, Protection]:
    """Return the protected nodes by id, ordered by index and id.

    :param nodes: a node may be repeated; it is protected if one of its versions is.
    :param patches: their data replace those of the nodes.
    """
    protections: dict[str, Protection] = {}
    for node in sorted(nodes, key=attrgetter('index', 'id')):
        patch = patches.get(node.id)
        protection = _protection_of(node, patch.data if patch else node.data, now)
        if protection:
            protections.setdefault(node.id, protection)
    return protections


def protected_nodes_text(protections: Mapping[str, Protection]) -> str:
    return listed(protections.items(), lambda item: f'{shortened(item[0])} is {item[1]}', _LISTED)


def too_few_victims(deleted: int, wanted: int, protections: Mapping[str, Protection]) -> str:
    number = f'{deleted} of {counted(wanted, "node")}'
    return f'Only {number} can be deleted: {protected_nodes_text(protections)}'


def unparsed_protections(protections: Mapping[str, Protection]) -> list[str]:
    invalid = [
        (node_id, protection.invalid)
        for node_id, protection in protections.items()
        if protection.invalid
    ]
    if not invalid:
        return []
    nodes = listed(invalid, lambda item: f'{shortened(item[0])} (got {item[1]})')
    return [
        f'Cannot parse `{PROTECTED}`, so these nodes stay protected: {nodes}; expected {_EXPECTED}'
    ]


def _protection_of(
    node: Node, data: Mapping[str, Any], now: datetime.datetime
) -> Protection | None:
    # The protection that a user set comes before that of engines and policies.
    values = (node.metadata.protected if node.metadata else None, data.get(PROTECTED))
    for protection in map(parse_protection, values):
        if protection and (not protection.until or protection.until > now):
            return protection
    return None


def _plain(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.startswith('{'):
        return json.loads(text)
    return _WORDS.get(text.lower(), text)


def _parsed(value: object) -> Protection | None:
    if value is None or isinstance(value, bool):
        return Protection() if value else None
    if isinstance(value, dict) and value and value.keys() <= _KEYS:
        until, reason = value.get('until'), value.get('reason') or ''
        if isinstance(reason, str):
            return Protection(None if until is None else _time(until), reason)
    return Protection(_time(value))


def _time(value: object) -> datetime.datetime:
    """Refuse a number: Python takes 1712011200000, milliseconds, for a time in the year 1712.

    :raises ValueError: the value is not a time in ISO 8601.
    """
    if not isinstance(value, str) or _NUMBER.fullmatch(value.strip()):
        raise ValueError('not a time')
    return in_utc(datetime.datetime.fromisoformat(value.strip()))
