"""The part that zone and region placement share: plan one level of places, and explain the plan.

Both policies must count nodes, word reasons and treat protected nodes alike: an operator reads
their decisions side by side, and a plan by zone must fit the plan by region.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar

import msgspec
from msgspec import Struct, structs

from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION, DELETION, Placement
from placement_worker.contract.model import BindRequest, CheckRequest, Node, NodePatch
from placement_worker.errors import CloudUnavailable, InvalidSpec, NoUsablePlace, TooSkewed
from placement_worker.formats.text import counted, listed, nearest, noun_for, shortened
from placement_worker.planning import sizing
from placement_worker.planning.interleaving import interleave_groups
from placement_worker.planning.placement import (
    NO_KNOWN_PLACE,
    Distribution,
    Row,
    alternatives,
    plan_for,
)
from placement_worker.planning.places import (
    Cordon,
    Held,
    Place,
    evacuation_warnings,
    shortage_warnings,
)
from placement_worker.planning.shortage import creation_failed
from placement_worker.planning.sizing import Size
from placement_worker.planning.skew import Skew, excessive_skew
from placement_worker.planning.victims import ALL_PROTECTED, GROUPS, group_of
from placement_worker.policies.base import (
    BEFORE,
    PROPERTIES,
    BindingOutcome,
    Outcome,
    Policy,
    State,
    on,
)
from placement_worker.policies.place_names import quoted, similar_name, unknown_names
from placement_worker.policies.placement_properties import (
    ANY_SKEW,
    PlacementProperties,
    Region,
    Zone,
)
from placement_worker.policies.resolved_places import NO_USABLE_ZONE, backoff_of
from placement_worker.policies.victim_selection import min_size_refusal

_REMEDY = 'correct the cordon file'

NAMED_NODES = 3
NOTHING_TO_DO = 'No node is to be created or deleted.'
T = TypeVar('T', bound=Hashable)
P = TypeVar('P', bound=PlacementProperties)


class RequestedChange(Struct, frozen=True):
    """The nodes that a placement policy creates or deletes in one check.

    :ivar size: the number of nodes that the action asks for.
    :ivar possible: the size, limited to the number of nodes that may be deleted.
    :ivar protected: the ids of the nodes that must not be deleted; a creation needs them only if
        the next victim breaks ties.
    """

    request: CheckRequest
    state: State
    size: Size
    possible: Size
    protected: Collection[str]

    @classmethod
    def for_check(cls, request: CheckRequest, state: State) -> Self:
        size = state.size(request)
        is_deletion = size.kind == DELETION
        protected = state.protected(request) if is_deletion or state.members.ranks else {}
        deletable = len(request.cluster.nodes) - len(protected)
        possible = structs.replace(size, count=min(size.count, deletable)) if is_deletion else size
        return cls(request, state, size, possible, protected)

    @property
    def skip_reason(self) -> str | None:
        if not self.size.count:
            return self.size.explained(NOTHING_TO_DO)
        if self.size.kind == CREATION:
            return None
        return min_size_refusal(self.request, self.possible.count)

    def held(self, located: Mapping[T, Sequence[Node]]) -> Held[T]:
        """Victims that are already chosen leave first, so that the plan agrees with them.

        :param located: the nodes that exist before the action, by place.
        :raises InvalidInput: the victims that are already chosen are malformed.
        """
        if self.size.kind == CREATION:
            everywhere = {place: len(nodes) for place, nodes in located.items()}
            return Held([everywhere], ranks=self._ranks(located, self.protected))
        chosen = self._chosen_ids()
        staying: Counter[T] = Counter()
        groups: list[Counter[T]] = [Counter() for _ in range(1 + len(GROUPS))]
        for place, nodes in located.items():
            for node in nodes:
                if node.id in self.protected:
                    staying[place] += 1
                else:
                    groups[0 if node.id in chosen else 1 + group_of(node)][place] += 1
        ranks = self._ranks(located, {*self.protected, *chosen})
        return Held([*filter(None, groups[:-1]), groups[-1]], staying, ranks)

    def _ranks(
        self, located: Mapping[T, Sequence[Node]], without: Collection[str]
    ) -> Mapping[T, Sequence[int]]:
        ranks = self.state.members.ranks
        return {
            place: sorted(
                ranks[node.id] for node in nodes if node.id in ranks and node.id not in without
            )
            for place, nodes in located.items()
        }

    def _chosen_ids(self) -> Collection[str]:
        action, data = self.request.action, self.state.action_data
        chosen = data.deletion.candidates if DELETION in data.data else None
        if not chosen and action.inputs.get('candidates'):
            chosen = action.candidate_inputs.candidates
        return frozenset(chosen or ())


class LevelPlan(Struct, frozen=True):
    """The plan of one level: of all regions, or of the zones of one region.

    :ivar distribution: None if the region has no usable zone.
    :ivar region: the region of the zones; None for regions, or if no policy planned by region.
    :ivar skew: None if the policy tolerates the skew of the plan.
    :ivar retries: the planned places with the places to try next.
    """

    level: Literal['region', 'zone']
    size: Size
    held: Held[str | None]
    distribution: Distribution | None
    region: str | None = None
    warnings: Sequence[str] = ()
    skew: Skew | None = None
    retries: Mapping[str, Sequence[str]] = msgspec.field(default_factory=dict)

    @property
    def rows(self) -> Sequence[Row]:
        """Nodes of unknown place have a row of their own, so that the counts add up."""
        if self.distribution is not None:
            held, leaving = self.held.nodes_in(None), self.distribution.unplaced
            left = held - leaving
            unknown = Row(name='-', current=held, planned=leaving, final=left, note=NO_KNOWN_PLACE)
            return [*self.distribution.rows, *[unknown] * bool(held)]
        held, count = self.held.total.total(), self.size.count
        final = held + (count if self.size.kind == CREATION else -count)
        return (Row(name='-', current=held, planned=count, final=final, note=NO_USABLE_ZONE),)

    def place(self, name: str | None) -> dict[str, str]:
        if self.level == 'region':
            return {'region_name': name} if name else {}
        names = (('region_name', self.region), ('zone', name))
        return {key: value for key, value in names if value is not None}


class PlaceSearch:
    """A search for the listed places of a policy in the names that each part of the cloud lists.

    If a part is unavailable, the search goes on. A missing place is then no error, because that
    part may have it.
    """

    def __init__(self, noun: str, places: Sequence[Zone | Region]) -> None:
        self._noun, self._listed = noun, [place.name for place in places]
        self._failures: list[str] = []
        self._known: set[str] = set()
        self.missing = self._listed

    def names_of(self, look_up: Callable[[], Collection[str]]) -> Collection[str]:
        try:
            return look_up()
        except CloudUnavailable as exc:
            self._failures.append(str(exc))
            return ()

    def search_in(self, look_up: Callable[[], Collection[str]]) -> None:
        if self.missing:
            known = self.names_of(look_up)
            self._known.update(known)
            self.missing = [name for name in self.missing if name not in known]

    def binding_outcome(self, request: BindRequest) -> BindingOutcome:
        warnings = [unknown_names(self._noun, self.missing, self._known)] if self.missing else []
        if self.missing and self._failures:
            missing = f'{noun_for(len(self.missing), self._noun)} {listed(self.missing, quoted)}'
            warnings = [f'Lookup of {missing} failed: {self._failures[0]}']
        elif len(self.missing) == len(self._listed):
            raise NoUsablePlace(warnings[0])
        return BindingOutcome(request.policy.data, warnings=warnings)


class PlacementPolicy(Policy[P]):
    """The base class of zone and region placement.

    :cvar level: the type of its places; `noun` is its name in texts about the cloud.
    :cvar planner: divides nodes over places; as `planning.placement.plan_for`.
    """

    level: ClassVar[Literal['region', 'zone']]
    noun: ClassVar[str]
    targets = on(
        BEFORE,
        actions.CLUSTER_SCALE_OUT,
        actions.CLUSTER_SCALE_IN,
        actions.CLUSTER_RESIZE,
        actions.NODE_CREATE,
    )
    exclusive = True
    planner = staticmethod(plan_for)

    def warnings_of_unknown(self, known: Collection[Collection[str]]) -> list[str]:
        """Return a sentence about the listed places that no part of the cloud has."""
        all_known = set[str]().union(*known)
        unknown = [place.name for place in self.properties.places if place.name not in all_known]
        return [unknown_names(self.noun, unknown, all_known)] if unknown else []

    def _refuse_unusable(self, usable: Collection[str]) -> None:
        names = [place.name for place in self.properties.places]
        unusable_names = [name for name in names if name not in usable]
        if unusable_names:
            wrong = listed(unusable_names, lambda name: quoted(name) + similar_name(name, usable))
            others = listed(sorted(usable), quoted) or 'none'
            at = f'{PROPERTIES}.{self.level}s[{names.index(unusable_names[0])}].name'
            raise InvalidSpec(
                f'The cloud has no usable {self.noun} {wrong}; usable: {others} - at `{at}`'
            )

    def _named_by_profile(
        self, change: RequestedChange, name: str, key: str, cordon: Cordon | None
    ) -> Outcome:
        """A cordon does not keep the engine from creating the node, so it is only a warning."""
        reason = f'The profile asks for {self.noun} {name}'
        warnings = [f'{reason}, and {cordon}; the node is created there all the same']
        patch = placed_node(change.request, change.state, [{key: name}])
        return Outcome('SKIPPED', f'{reason}.', nodes=patch, warnings=warnings if cordon else [])

    def _counted_nodes(self, change: RequestedChange) -> Sequence[Node]:
        nodes: Sequence[Node] = sizing.current_nodes(change.request.action, change.request.cluster)
        if change.size.kind != CREATION or not backoff_of(self.properties):
            return nodes
        return [node for node in nodes if not creation_failed(node)]

    def _plan_level(
        self, size: Size, places: Sequence[Place], held: Held[str | None], region: str | None = None
    ) -> LevelPlan:
        distribution = self.planner(size, places, held)
        # Without the zones of other regions, which this region cannot hold.
        own = [place for place in places if place.known] if region else places
        spread = self.properties.spread
        skew = None
        if spread != ANY_SKEW:
            skew = excessive_skew(size.kind, spread.max_skew, own, distribution, held)
        retries: Mapping[str, Sequence[str]] = {}
        # In strict mode, even a retry in another place might exceed the skew.
        if backoff_of(self.properties) and size.kind == CREATION and not self._is_strict:
            known = [place for place in places if place.known]
            retries = alternatives(distribution, known, held.ranks)
        return LevelPlan(
            self.level,
            size,
            held,
            distribution,
            region,
            [
                *evacuation_warnings(places, held.staying, self.level),
                *shortage_warnings(places, self.level, region),
            ],
            skew,
            retries,
        )

    def _applied(
        self,
        change: RequestedChange,
        plans: Sequence[LevelPlan],
        warnings: Sequence[str],
        unplaced: Sequence[Node],
        extra_keys: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """:param extra_keys: other keys of the plan than its counts."""
        skews = [plan.skew.explained(self.level, plan.region) for plan in plans if plan.skew]
        details = self._details(plans)
        if not change.possible.count:
            return Outcome('SKIPPED', change.size.explained(ALL_PROTECTED), warnings=warnings)
        action, is_creation = change.request.action, change.size.kind == CREATION
        if skews and is_creation and self._is_strict:
            raise TooSkewed(skews[0], details)
        entries = _entries(plans) if is_creation else []
        retries = [
            {'place': plan.place(name), 'retry': [plan.place(other) for other in others]}
            for plan in plans
            for name, others in plan.retries.items()
        ]
        counts = _counts(plans)
        planned = {f'{self.level}s': counts, **(extra_keys or {})}
        if retries:
            planned['alternatives'] = retries
        of_places = [text for plan in plans for text in plan.warnings]
        return Outcome(
            'APPLIED',
            summary(change.possible, self.level, len(counts)),
            change.state.action_data.planned(change.size.kind, change.size.count, planned, entries),
            placed_node(change.request, change.state, entries),
            details=details,
            warnings=[
                *warnings,
                *_unplaced(unplaced, len(sizing.current_nodes(action, change.request.cluster))),
                *skews,
                *of_places,
                *self._replaced(change, entries),
            ],
        )

    @property
    def _is_strict(self) -> bool:
        return self.properties.spread.mode == 'strict'

    def _details(self, plans: Sequence[LevelPlan]) -> dict[str, Any]:
        rows: list[dict[str, Any]] = []
        skewed: list[dict[str, Any]] = []
        for plan in plans:
            region = {} if plan.region is None else {'region_name': plan.region}
            rows += [
                {**region, **structs.asdict(row), 'ideal': round(row.ideal, 2)} for row in plan.rows
            ]
            skewed += [{**region, **row} for row in plan.skew.details] if plan.skew else []
        unplaced = sum(plan.held.nodes_in(None) for plan in plans if plan.distribution)
        details = {f'{self.level}s': rows, 'unplaced': unplaced}
        return {**details, 'skewed': skewed} if skewed else details

    def _replaced(self, change: RequestedChange, entries: Sequence[Mapping[str, str]]) -> list[str]:
        """Places in the data of the request are those of the engine, and may be replaced."""
        earlier = change.state.action_data.data.get('placement') if entries else None
        if earlier is None or earlier == change.request.action.data.get('placement'):
            return []
        part = ('region', 'zone').index(self.level)
        chosen = Counter(place[part] for place in Placement.of(earlier).places if place[part])
        planned = Counter(Placement.of(entry).place[part] for entry in entries)
        if not chosen - planned:
            return []
        level = self.level
        return [
            f'{level.capitalize()} placement replaces the {level}s that an earlier policy chose; '
            f'that policy must run after senlin.policy.{level}_placement'
        ]


def _unplaced(nodes: Sequence[Node], total: int) -> list[str]:
    if not nodes:
        return []
    first = sorted(nodes, key=attrgetter('index', 'id'))[:NAMED_NODES]
    names = [shortened(node.id) for node in first]
    if len(nodes) > NAMED_NODES:
        names.append('...')
    return [
        f'The place of {len(nodes)} of {counted(total, "node")} is unknown; the plan '
        f'does not count them: {", ".join(names)}'
    ]


def placed_node(
    request: CheckRequest, state: State, entries: Sequence[Mapping[str, str]]
) -> dict[str, NodePatch]:
    """Record the place of the node of a NODE_CREATE, the first entry."""
    node = request.action.node
    if request.action.action != actions.NODE_CREATE or node is None:
        return {}
    place, data = entries[0], state.node_data(node)
    placement = Placement.of(data.get('placement'))
    if placement.is_at(place):
        return {}
    return {node.id: NodePatch(data={**data, 'placement': placement.moved(place)})}


def _counts(plans: Sequence[LevelPlan]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for plan in plans:
        counts.update(plan.distribution.counts if plan.distribution else {})
    return dict(sorted(counts.items()))


def _entries(plans: Sequence[LevelPlan]) -> list[dict[str, str]]:
    counts: dict[int, dict[str | None, int]] = {
        i: {row.name: row.planned for row in plan.distribution.rows}
        if plan.distribution
        else {None: plan.size.count}
        for i, plan in enumerate(plans)
    }
    places = {(i, name): plans[i].place(name) for i, planned in counts.items() for name in planned}
    return [places[slot] for slot in interleave_groups(counts)]


def summary(size: Size, noun: str, places: int) -> str:
    """E.g. "3 nodes leave 2 zones"."""
    is_single, is_creation = size.count == 1, size.kind == CREATION
    leave = 'leaves' if is_single else 'leave'
    if places:
        go_to = 'goes to' if is_single else 'go to'
        effect = f'{go_to if is_creation else leave} {counted(places, noun)}'
    elif is_creation:
        effect = f'{"is" if is_single else "are"} created without a {noun}'
    else:
        effect = f'of no known {noun} {leave}'
    reason = f'{counted(size.count, "node")} {effect}'
    return size.explained(reason)


class UnknownCordon(NamedTuple):
    """A cordon of an unknown place; `names` are its name and the similar ones of the cloud."""

    cordon: Cordon
    text: str
    names: frozenset[str]

    def concerns(self, policy: Policy[Any]) -> bool:
        level = 'zone' if self.cordon.zone else 'region'
        if not isinstance(policy, PlacementPolicy) or policy.level != level:
            return False
        return any(place.name in self.names for place in policy.properties.places)


def unknown_cordons(state: State) -> Iterator[UnknownCordon]:
    """Yield the cordons of places that are in no response of the cloud to this check.

    Nothing is requested from the cloud: a place in a region that no policy asked for counts as
    known.
    """
    regions, zones = state.cloud.requested_regions, state.cloud.requested_zones
    for cordon in state.cordons:
        searched = [region for region in zones if cordon.applies_in(region)]
        if cordon.region and regions is not None and cordon.region not in regions:
            name, known = cordon.region, regions
            text, remedy = f': the cloud has no region {shortened(name)}', _REMEDY
        elif cordon.zone and searched:
            name, known = cordon.zone, set[str]().union(*(zones[region] for region in searched))
            names = sorted(
                f'region {region}' if region else 'the home region' for region in searched
            )
            text = f' in {listed(names)}: there is no such zone'
            other = '' if cordon.region else ', or name its region if another region has the zone'
            remedy = _REMEDY + other
        else:
            continue
        if name not in known:
            has = f'there are {listed(sorted(known), shortened)}' if known else 'there are none'
            text = f'{text}{similar_name(name, known)}; {has}; {remedy}'
            text = f'The cordon of {cordon.place} has no effect{text}'
            yield UnknownCordon(cordon, text, frozenset((name, nearest(name, known) or name)))
