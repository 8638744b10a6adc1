"""What a scenario's file says, in YAML or JSON; every key is checked.

::

    title: A zone is lost and comes back
    seed: 1
    cloud: {zones: {az1: true, az2: true}}          # as the embedded cloud's file
    policies: [...]                                 # bindings, as in a request
    steps:
      - scale_out: 10
      - lose_zone: az2
        note: Power fails in one hall.
      - resize: 40
"""

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from placement_worker.cloud.embedded.inventory import Inventory, Region
from placement_worker.contract import codec, document_kinds, unknown_keys
from placement_worker.contract.model import Binding
from placement_worker.errors import InvalidRequest, PlacementWorkerError
from placement_worker.formats import documents
from placement_worker.policies.shared_placement import HEAVIEST

Count = Annotated[int, Meta(ge=0, le=1_000_000)]
Percentage = Annotated[str, Meta(pattern=r'^(100|\d{1,2}(\.\d+)?)\s?%$')]
Weights = dict[str, Annotated[int, Meta(ge=1, le=HEAVIEST)]]


THERE = '; correct it there'


class InvalidScenario(PlacementWorkerError):
    """The file does not describe a scenario; the text names path, expectation and finding."""


class Failing(Struct, frozen=True, forbid_unknown_fields=True):
    """Which nodes fail: so many or so large a share of those in a zone, a region, or anywhere."""

    count: Count | Percentage = '100%'
    zone: str | None = None
    region: str | None = None
    seed: int = 0


class Resize(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The inputs of a resize, as Senlin has them."""

    number: int
    adjustment_type: Literal['EXACT_CAPACITY', 'CHANGE_IN_CAPACITY', 'CHANGE_IN_PERCENTAGE'] = (
        'EXACT_CAPACITY'
    )
    min_size: int | None = None
    max_size: int | None = None
    min_step: int | None = None
    strict: bool = False


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that happens; exactly one of the keys but `note`, `expect` and `steps`.

    `expect`: how the checks of the step have to end. Zones may be named with their region:
    `RegionOne/az1`.
    """

    scale_out: Count | None = None
    scale_in: Count | None = None
    resize: Count | Resize | None = None
    delete_nodes: Count | None = None
    fail_nodes: Count | Percentage | Failing | None = None
    replace_failed: Literal[True] | None = None
    lose_zone: str | None = None
    restore_zone: str | None = None
    lose_region: str | None = None
    restore_region: str | None = None
    weights: Weights | None = None
    caps: dict[str, Annotated[int, Meta(ge=-1, le=HEAVIEST)]] | None = None
    repeat: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    steps: 'list[Step] | None' = None
    note: str = ''
    expect: Literal['OK', 'ERROR'] = 'OK'

    def __post_init__(self) -> None:
        said = [verb for verb in VERBS if getattr(self, verb) is not None]
        if len(said) != 1:
            raise ValueError(
                f'Expected one of {", ".join(VERBS)}, got {" and ".join(said) or "none"}'
            )
        if (self.repeat is None) != (self.steps is None):
            raise ValueError('Expected `repeat` and `steps` together')

    @property
    def verb(self) -> str:
        """What happens, as the key says."""
        return next(verb for verb in VERBS if getattr(self, verb) is not None)


VERBS = tuple(name for name in Step.__struct_fields__ if name not in ('steps', 'note', 'expect'))


class StartingNodes(Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes that are there at the start."""

    count: Count
    zone: str | None = None
    region: str | None = None


class Cluster(Struct, frozen=True, forbid_unknown_fields=True):
    """The cluster; empty at the start, unless `nodes` says otherwise."""

    name: str = 'simulated'
    min_size: Annotated[int, Meta(ge=0)] = 0
    max_size: int = -1
    region: str | None = None
    nodes: list[StartingNodes] = []


class Scenario(Struct, frozen=True, forbid_unknown_fields=True):
    """A cluster, the policies bound to it, its cloud, and what happens."""

    title: str
    cloud: dict[str, Any]
    policies: list[Binding]
    steps: Annotated[list[Step], Meta(min_length=1)]
    description: str = ''
    seed: int = 1
    max_nodes: Annotated[int, Meta(ge=1)] = 1_000_000
    cluster: Cluster = field(default_factory=Cluster)

    @property
    def inventory(self) -> Inventory:
        """The cloud at the start."""
        return Inventory.parse(self.cloud, '`$.cloud`')

    @property
    def length(self) -> int:
        """How many steps there are, repeated ones as often as they are."""
        return _length(self.steps)

    def unrolled(self) -> Iterator[Step]:
        """All steps in their order, repeated ones as often as they are."""
        return _unrolled(self.steps)


def _length(steps: list[Step]) -> int:
    return sum(
        (step.repeat or 1) * (_length(step.steps) if step.steps else step.repeat is None)
        for step in steps
    )


def _unrolled(steps: list[Step]) -> Iterator[Step]:
    for step in steps:
        if step.repeat is None or step.steps is None:
            yield step
        else:
            for _ in range(step.repeat):
                yield from _unrolled(step.steps)


def shipped() -> dict[str, Path]:
    """The scenarios that come with the package: name -> file."""
    folder = Path(str(resources.files('placement_worker') / 'examples' / 'scenarios'))
    return {path.stem: path for path in sorted(folder.glob('*.yaml'))}


def load(name: str) -> Scenario:
    """Read a scenario from a file, or one of the shipped ones.

    :raises InvalidScenario: it is none; the text says what to do.
    :raises OSError: the file cannot be read.
    :raises Malformed: it is no YAML.
    """
    raw = documents.read(str(_found(name)))
    if len(raw) > 1:
        raise InvalidScenario(
            f'{name} holds {len(raw)} documents, expected one: a scenario is one document'
        )
    other = document_kinds.another(raw[0], document_kinds.SCENARIO)
    if other:
        raise InvalidScenario(f'{name} is no scenario: it looks like {other}')
    strange = unknown_keys.described(raw[0], Scenario)
    if strange:
        raise InvalidScenario(
            f'{name} is no scenario: expected only keys that it has, got {strange}{THERE}'
        )
    try:
        scenario = codec.decode(raw[0], Scenario)
    except InvalidRequest as exc:
        raise InvalidScenario(f'{name} is no scenario: {exc}{THERE}') from exc
    unknown = sorted(set(_unknown_names(scenario)))
    if unknown:
        raise InvalidScenario(f'{name} names what it does not have: {", ".join(unknown)}{THERE}')
    return scenario


def _unknown_names(scenario: Scenario) -> Iterator[str]:
    """Zones and regions that steps name, and the cloud or the policies do not."""
    cloud = scenario.inventory
    regions = (
        cloud.region_map
        if isinstance(cloud.region_map, dict)
        else {name: Region() for name in cloud.region_map}
    )
    zones = set(cloud.zone_list)
    shared: dict[str, str] = {}
    for name, region in regions.items():
        zones |= {zone for own in region.zones or () for zone in (own, f'{name}/{own}')}
        if region.zones is None:
            why = f'region {name} has no zones of its own'
            shared |= {
                f'{name}/{zone}': f' ({why}; name zone {zone}, or give it some)'
                for zone in cloud.zone_list
            }
    listed = {
        place['name']
        for binding in scenario.policies
        for places in binding.spec.properties.values()
        if isinstance(places, list)
        for place in places
        if isinstance(place, dict) and isinstance(place.get('name'), str)
    }
    for step in _steps(scenario.steps):
        for zone in (step.lose_zone, step.restore_zone):
            if zone is not None and zone not in zones:
                yield f'zone {zone}{shared.get(zone, "")}'
        for lost in (step.lose_region, step.restore_region):
            if lost is not None and lost not in regions:
                yield f'region {lost}'
        for name in {**(step.weights or {}), **(step.caps or {})}:
            if name not in listed:
                yield f'place {name} in a policy'


def _steps(steps: list[Step]) -> Iterator[Step]:
    """All steps as they stand in the file."""
    for step in steps:
        yield step
        yield from _steps(step.steps or [])


def _found(name: str) -> Path | str:
    if name == '-' or Path(name).exists():
        return name
    if name in shipped():
        return shipped()[name]
    raise InvalidScenario(
        f'{name}: no such file; name one, or a shipped scenario: {", ".join(shipped())}'
    )
