"""Scenarios: the content of a file, YAML or JSON, and how it is found, read and checked.

A place that no cloud and no policy contains is refused before the first step: a run that names az4
for az3 would end as well, with a report about something else.

::

    title: A zone is lost and comes back
    seed: 1
    cloud: {zones: {az1: true, az2: true}}          # as in a file for --cloud
    policies: [...]                                 # bindings, as in a request
    steps:
      - scale_out: 10
      - lose_zone: az2
        note: Power fails in one hall.
      - resize: 40
"""

import datetime
from collections.abc import Collection, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from placement_worker.cloud.embedded.inventory import Inventory, Region
from placement_worker.cloud.embedded.octavia_simulator import OperatingStatus
from placement_worker.contract import codec, document_kinds
from placement_worker.contract.model import Binding, RebalanceOptions
from placement_worker.errors import PlacementWorkerError
from placement_worker.formats import documents, paths
from placement_worker.formats.documents import Document
from placement_worker.formats.paths import SchemaError
from placement_worker.planning.places import CordonedPlace
from placement_worker.policies.place_names import similar_name, unknown_names
from placement_worker.policies.placement_properties import MAX_NUMBER

Count = Annotated[int, Meta(ge=0, le=1_000_000)]
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
Percentage = Annotated[str, Meta(pattern=r'^(100|\d{1,2}(\.\d+)?)\s?%$')]
Weights = dict[str, Annotated[int, Meta(ge=1, le=MAX_NUMBER)]]


class InvalidScenario(PlacementWorkerError):
    """The file does not describe a scenario; the message names the path and the cause."""


class SomeNodes(Struct, frozen=True, forbid_unknown_fields=True):
    """A number or a percentage of the nodes in a zone, a region, or anywhere."""

    count: Count | Percentage = '100%'
    zone: str | None = None
    region: str | None = None
    seed: int = 0


class Protecting(SomeNodes, frozen=True, forbid_unknown_fields=True):
    """Nodes that a user protects, for `minutes` of simulated time or without an end."""

    minutes: Annotated[int, Meta(ge=1)] | None = None
    reason: str = ''


class Cordoning(CordonedPlace, frozen=True, kw_only=True):
    """A cordon of the operator for `minutes` of simulated time."""

    minutes: Annotated[int, Meta(ge=1, le=10_000_000)]
    reason: str = ''
    evacuate: bool = False


class MemberStatus(Struct, frozen=True, forbid_unknown_fields=True):
    status: OperatingStatus
    count: Count | Percentage = '100%'


class Resize(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The inputs of CLUSTER_RESIZE, as Senlin defines them."""

    number: int
    adjustment_type: Literal['EXACT_CAPACITY', 'CHANGE_IN_CAPACITY', 'CHANGE_IN_PERCENTAGE'] = (
        'EXACT_CAPACITY'
    )
    min_size: int | None = None
    max_size: int | None = None
    min_step: int | None = None
    strict: bool = False


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """One step; it has exactly one key besides `note`, `expect` and `steps`.

    A zone may include its region, e.g. `RegionOne/az1`.
    """

    scale_out: Count | None = None
    scale_in: Count | None = None
    resize: Count | Resize | None = None
    delete_nodes: Count | None = None
    fail_nodes: Count | Percentage | SomeNodes | None = None
    replace_failed: Literal[True] | None = None
    rebalance: Literal[True] | RebalanceOptions | None = None
    protect: Count | Percentage | Protecting | None = None
    member_status: MemberStatus | None = None
    lose_zone: str | None = None
    exhaust: str | None = None
    restore_zone: str | None = None
    lose_region: str | None = None
    restore_region: str | None = None
    cordon: Cordoning | None = None
    uncordon: CordonedPlace | None = None
    weights: Weights | None = None
    caps: dict[str, Annotated[int, Meta(ge=-1, le=MAX_NUMBER)]] | None = None
    repeat: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    steps: 'list[Step] | None' = None
    note: str = ''
    expect: Literal['OK', 'ERROR'] = 'OK'

    def __post_init__(self) -> None:
        given = [verb for verb in VERBS if getattr(self, verb) is not None]
        if len(given) != 1:
            names = ' and '.join(given) or 'none'
            raise ValueError(f'Expected one of {", ".join(VERBS)}, got {names}')
        if (self.repeat is None) != (self.steps is None):
            raise ValueError('Expected `repeat` and `steps` together')

    @property
    def verb(self) -> str:
        return next(verb for verb in VERBS if getattr(self, verb) is not None)


VERBS = tuple(name for name in Step.__struct_fields__ if name not in ('steps', 'note', 'expect'))


class StartingNodes(Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes that exist at the start; `data` is that of each node, besides its place."""

    count: Count
    zone: str | None = None
    region: str | None = None
    data: dict[str, Any] = {}


class Cluster(Struct, frozen=True, forbid_unknown_fields=True):
    name: str = 'simulated'
    min_size: Annotated[int, Meta(ge=0)] = 0
    max_size: int = -1
    region: str | None = None
    nodes: list[StartingNodes] = []


class Scenario(Struct, frozen=True, forbid_unknown_fields=True):
    """A cluster with its policies, its cloud, and the steps to play, a minute each."""

    title: str
    cloud: dict[str, Any]
    policies: list[Binding]
    steps: Annotated[list[Step], Meta(min_length=1)]
    description: str = ''
    seed: int = 1
    start: Annotated[datetime.datetime, Meta(tz=True)] = START
    max_nodes: Annotated[int, Meta(ge=1)] = 1_000_000
    cluster: Cluster = field(default_factory=Cluster)

    @property
    def inventory(self) -> Inventory:
        return Inventory.parse(self.cloud, '`$.cloud`')

    @property
    def length(self) -> int:
        return _length(self.steps)

    def unrolled(self) -> Iterator[Step]:
        return _unrolled(self.steps)


def _length(steps: list[Step]) -> int:
    return sum(step.repeat * _length(step.steps or []) if step.repeat else 1 for step in steps)


def _unrolled(steps: list[Step]) -> Iterator[Step]:
    for step in steps:
        if step.repeat is None or step.steps is None:
            yield step
        else:
            for _ in range(step.repeat):
                yield from _unrolled(step.steps)


def shipped_scenarios() -> dict[str, Path]:
    folder = Path(str(resources.files('placement_worker') / 'examples' / 'scenarios'))
    return {path.stem: path for path in sorted(folder.glob('*.yaml'))}


def scenario_document(name: str) -> Document:
    """Read a file, or a shipped scenario by its name.

    :raises InvalidScenario: the file holds no scenario, or the name is unknown.
    """
    document, *others = documents.read(str(_path_of(name)))
    if others:
        raise InvalidScenario(
            f'{name} contains {len(others) + 1} documents; use one document per scenario'
        )
    return document


def scenario_in(document: Document, name: str) -> Scenario:
    """Return the scenario that a document describes; the name is that in errors.

    The properties of its policies are not checked.
    """
    other = document_kinds.other_kind(document.data, document_kinds.SCENARIO)
    if other:
        raise InvalidScenario(f'{name} is not a scenario: it is {other}')
    problem = 'is not a scenario'
    wrong = list(codec.errors_in(document.data, codec.strict(Scenario)))
    if not wrong:
        scenario = codec.decode(document.data, Scenario)
        problem, wrong = 'names unknown places', list(_unknown_places(scenario))
    if wrong:
        invalid = document.invalid(wrong)
        raise InvalidScenario(f'{name} {problem}: {invalid}; correct the file') from invalid
    return scenario


def _path_of(name: str) -> Path | str:
    if name == '-' or Path(name).exists():
        return name
    names = shipped_scenarios()
    if name in names:
        return names[name]
    raise InvalidScenario(
        f'{name}: no such file{similar_name(name, names)}; name a file or a shipped '
        f'scenario: {", ".join(names)}'
    )


def _unknown_places(scenario: Scenario) -> Iterator[SchemaError]:
    """Yield an error per place in a step that neither the cloud nor the policies contain."""
    regions = scenario.inventory.described_regions
    known: Mapping[str, Collection[str]] = {'zone': _zones(scenario, regions), 'region': regions}
    listed = set(_listed(scenario))
    for path, step in _steps(scenario.steps, ('steps',)):
        for at, kind, name in _named_places(step):
            if name is not None and name not in known[kind]:
                yield SchemaError((*path, *at), unknown_names(kind, [name], known[kind]))
        for key in ('weights', 'caps'):
            for name in getattr(step, key) or {}:
                if name not in listed:
                    text = f'No policy lists place "{name}"{similar_name(name, listed)}'
                    yield SchemaError((*path, key, name), text, of_key=True)


def _named_places(step: Step) -> Iterator[tuple[paths.Path, str, str | None]]:
    """Yield path, kind and name of each zone and region that a step may name."""
    for key in ('lose_zone', 'exhaust', 'restore_zone', 'lose_region', 'restore_region'):
        yield (key,), 'region' if key.endswith('region') else 'zone', getattr(step, key)
    for key in ('cordon', 'uncordon'):
        for kind in ('zone', 'region'):
            yield (key, kind), kind, getattr(getattr(step, key), kind, None)


def _zones(scenario: Scenario, regions: Mapping[str, Region]) -> set[str]:
    own = {(name, zone) for name, region in regions.items() for zone in region.zones or ()}
    return {*scenario.inventory.zone_list, *(zone for _, zone in own), *map('/'.join, own)}


def _listed(scenario: Scenario) -> Iterator[str]:
    for binding in scenario.policies:
        for places in binding.spec.properties.values():
            for place in places if isinstance(places, list) else ():
                if isinstance(place, dict) and isinstance(place.get('name'), str):
                    yield place['name']


def _steps(steps: list[Step], path: paths.Path) -> Iterator[tuple[paths.Path, Step]]:
    for index, step in enumerate(steps):
        yield (*path, index), step
        yield from _steps(step.steps or [], (*path, index, 'steps'))
