"""Plans by zone: among the zones of one region, or of each region that takes a share."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from msgspec import structs

from placement_worker.cloud.stated_places import Location
from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION
from placement_worker.contract.cluster import Node
from placement_worker.planning import sizing
from placement_worker.planning.places import Located, Place
from placement_worker.planning.plan_rows import Plan
from placement_worker.planning.sizing import Size
from placement_worker.planning.skew import Skew
from placement_worker.policies import (
    cordoned_places,
    place_names,
    short_places,
    zone_shares,
)
from placement_worker.policies.base import State
from placement_worker.policies.on_shortage import OnShortage
from placement_worker.policies.shared_placement import Task
from placement_worker.policies.spread import Spread, measured
from placement_worker.policies.zone_properties import Zone
from placement_worker.policies.zone_shares import Share

T = TypeVar('T', bound=Hashable)
NO_ZONE = 'No availability zone found available.'
Planner = Callable[[Size, Sequence[Place], Sequence[Located], Located], Plan]


@dataclass(frozen=True, slots=True)
class ZonePlans:
    """The plans of one check.

    :ivar zones: those of the spec, in its order.
    :ivar spread: the tolerated skew; None for any.
    :ivar on_shortage: the reaction to a lack of capacity; None for nothing.
    """

    zones: Sequence[Zone]
    planner: Planner
    task: Task
    spread: Spread | None
    on_shortage: OnShortage | None

    def alone(self, region: str | None) -> Share:
        """Plan among the zones of one region, because no policy planned by region.

        :param region: the result of `region_of`.
        :raises NoUsablePlace: no zone is usable there.
        :raises NoFeasiblePlan: there are too few nodes to delete.
        """
        cloud, size = self.task.state.cloud, self.task.size
        nodes = self._of_region(self._current_nodes())
        groups, staying = self._in_groups(nodes, cloud.zones_of)
        shortages = self._shortages(lambda node: (None, cloud.zone_of(node)))
        places = self._places(region, shortages)
        plan = self._plan(places, size, groups, staying)
        if plan is None:
            names, known = [zone.name for zone in self.zones], cloud.zones(region)
            raise place_names.none_usable(NO_ZONE, 'availability zone', 'zones', names, known)
        skew = self._skew(size, places, plan, groups, staying)
        retries = self._alternatives(size, places, plan)
        warnings = _warnings(places, staying)
        return Share(None, size, len(nodes), plan, warnings, skew, retries)

    def in_regions(self, regions: Mapping[str, int]) -> list[Share]:
        """Plan each region's share among its own zones, for its own nodes.

        :raises NoFeasiblePlan: there are too few nodes to delete.
        """
        cloud, kind = self.task.state.cloud, self.task.size.kind
        nodes = self._current_nodes()
        located = partial(cloud.zones_in_regions, regions=regions)
        groups, staying = self._in_groups(nodes, located)
        held = zone_shares.by_region([*groups, staying])
        shortages = self._shortages(lambda node: (cloud.region_of(node), cloud.zone_of(node)))
        return [
            self._share(name, Size(kind, count), held[name][:-1], held[name][-1], shortages)
            for name, count in sorted(regions.items())
            if count
        ]

    def _in_groups(
        self, nodes: Sequence[Node], count: Callable[[Sequence[Node]], Counter[T]]
    ) -> tuple[list[Counter[T]], Counter[T]]:
        return self.task.in_groups(nodes, count, without_failed=self.on_shortage is not None)

    def _shortages(self, locate: Callable[[Node], Location]) -> short_places.Shortages:
        """Return the shortages that matter: a deletion is planned without them."""
        if self.on_shortage is None or self.task.size.kind != CREATION:
            return short_places.NO_SHORTAGES
        nodes = self._of_region(self.task.request.cluster.nodes)
        return short_places.find(self.on_shortage, nodes, locate, self.task.state.now)

    def _places(
        self, region: str | None, shortages: short_places.Shortages, of: str | None = None
    ) -> Sequence[Place]:
        """Return the zones of a region with their shortages.

        :param of: the region in the keys of `shortages`.
        """
        places = places_in(self.zones, region, self.task.state)
        return short_places.of_zones(places, of, shortages) if shortages else places

    def _alternatives(
        self, size: Size, places: Sequence[Place], plan: Plan | None
    ) -> Mapping[str, Sequence[str]]:
        if self.on_shortage is None:
            return {}
        return short_places.alternatives(self.spread, size, places, plan)

    def _skew(
        self,
        size: Size,
        places: Sequence[Place],
        plan: Plan,
        groups: Sequence[Located],
        staying: Located,
    ) -> Skew | None:
        if self.spread is None:
            return None
        return measured(self.spread, size, places, plan, groups, staying)

    def _share(
        self,
        region: str,
        size: Size,
        groups: Sequence[Located],
        staying: Located,
        shortages: short_places.Shortages,
    ) -> Share:
        held = sum(sum(group.values()) for group in (*groups, staying))
        places = self._places(region, shortages, region)
        plan = self._plan(places, size, groups, staying)
        own = [place for place in places if place.known]  # the others are zones of other regions
        skew = self._skew(size, own, plan, groups, staying) if plan else None
        retries = self._alternatives(size, places, plan)
        return Share(region, size, held, plan, _warnings(places, staying, region), skew, retries)

    def _plan(
        self, places: Sequence[Place], size: Size, groups: Sequence[Located], staying: Located
    ) -> Plan | None:
        """Plan among the zones of one region; None if none of the listed ones is usable there.

        :param staying: zone -> number of protected nodes there.
        :raises NoUsablePlace: cordons close the zones that nodes could be created in.
        """
        if not any(place.available if size.kind == CREATION else place.known for place in places):
            cordoned_places.check_cordons(places, NO_ZONE)
            return None
        return self.planner(size, places, groups, staying)

    def _current_nodes(self) -> Sequence[Node]:
        return sizing.current_nodes(self.task.request.action, self.task.request.cluster)

    def _of_region(self, nodes: Sequence[Node]) -> Sequence[Node]:
        """Return the nodes in the region of a new node; all of them for an action of a cluster."""
        new = _new_node(self.task)
        return nodes if new is None else self.task.state.cloud.in_same_region(new, nodes)


def region_of(task: Task) -> str | None:
    """Return the region whose zones are planned if no policy planned by region."""
    new = _new_node(task)
    if new is None:
        return task.request.cluster.profile.region
    return task.state.cloud.named_region_of(new)


def _new_node(task: Task) -> Node | None:
    """Return the node of a NODE_CREATE, with the data of earlier policies; None for others."""
    action = task.request.action
    if action.action != actions.NODE_CREATE or action.node is None:
        return None
    return structs.replace(action.node, data=task.state.node_data(action.node))


def warnings_of_named(zone: str, task: Task) -> list[str]:
    """Return a sentence if a new node goes to a cordoned zone that its profile names.

    :param zone: the zone in the profile; `zone:host` names a host of the zone.
    """
    if not task.state.cordons:
        return []
    name, _, _ = zone.partition(':')
    found = cordoned_places.of_zone(name, region_of(task), task.state)
    return cordoned_places.warn_of_named(f'availability zone {zone}', found)


def places_in(zones: Sequence[Zone], region: str | None, state: State) -> list[Place]:
    """Return the zones of a spec with their state in one region."""
    known = state.cloud.zones(region)
    places = [
        Place(
            zone.name, zone.weight, known=zone.name in known, available=known.get(zone.name, False)
        )
        for zone in zones
    ]
    return cordoned_places.close_zones(places, region, state) if state.cordons else places


def _warnings(places: Sequence[Place], staying: Located, region: str | None = None) -> list[str]:
    """Return the sentences about zones in which cordons or shortages limit the plan."""
    not_emptied = cordoned_places.not_emptied(places, staying, 'zone') if staying else []
    if not any(place.shortage for place in places):
        return not_emptied
    return [*not_emptied, *short_places.warnings(places, 'zone', region)]
