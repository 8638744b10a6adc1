"""The content of a scenario file, YAML or JSON.

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
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.embedded.octavia_simulator import OperatingStatus
from placement_worker.contract.model import Binding
from placement_worker.errors import PlacementWorkerError
from placement_worker.policies.places import HEAVIEST

Count = Annotated[int, Meta(ge=0, le=1_000_000)]
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
Percentage = Annotated[str, Meta(pattern=r'^(100|\d{1,2}(\.\d+)?)\s?%$')]
Weights = dict[str, Annotated[int, Meta(ge=1, le=HEAVIEST)]]


class InvalidScenario(PlacementWorkerError):
    """The file does not describe a scenario; the message names the path and the cause."""


class Failing(Struct, frozen=True, forbid_unknown_fields=True):
    """Failing nodes: a number or a percentage of those in a zone, a region, or anywhere."""

    count: Count | Percentage = '100%'
    zone: str | None = None
    region: str | None = None
    seed: int = 0


class Protecting(Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes that a user protects: a number or a percentage, as in `Failing`.

    :ivar minutes: the simulated time after which the protection ends; each step takes one minute.
        None for a protection without an end.
    """

    count: Count | Percentage = '100%'
    zone: str | None = None
    region: str | None = None
    seed: int = 0
    minutes: Annotated[int, Meta(ge=1)] | None = None
    reason: str = ''


class Rebalancing(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The options of a rebalance, as in the contract."""

    max_moves: Annotated[int, Meta(ge=1)] | None = None
    max_surge: Annotated[int, Meta(ge=1)] = 1
    min_gain: Annotated[float, Meta(ge=0)] = 0.0
    min_age_s: Annotated[int, Meta(ge=0)] = 0


class CordonedPlace(Struct, frozen=True, forbid_unknown_fields=True):
    """A zone, a region with all its zones, or a zone of one region."""

    zone: str | None = None
    region: str | None = None

    def __post_init__(self) -> None:
        if self.zone is None and self.region is None:
            raise ValueError('Expected `zone`, `region` or both, got none')


class Cordoning(CordonedPlace, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A cordon of the operator.

    :ivar minutes: the simulated time after which the cordon ends; each step takes one minute.
    """

    minutes: Annotated[int, Meta(ge=1, le=10_000_000)]
    reason: str = ''
    evacuate: bool = False


class MemberStatus(Struct, frozen=True, forbid_unknown_fields=True):
    """The operating status of the pool members of some nodes: a number or a percentage of all."""

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

    :ivar expect: the expected outcome of the checks of this step.
    """

    scale_out: Count | None = None
    scale_in: Count | None = None
    resize: Count | Resize | None = None
    delete_nodes: Count | None = None
    fail_nodes: Count | Percentage | Failing | None = None
    replace_failed: Literal[True] | None = None
    rebalance: Literal[True] | Rebalancing | None = None
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
    caps: dict[str, Annotated[int, Meta(ge=-1, le=HEAVIEST)]] | None = None
    repeat: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    steps: 'list[Step] | None' = None
    note: str = ''
    expect: Literal['OK', 'ERROR'] = 'OK'

    def __post_init__(self) -> None:
        given = [verb for verb in VERBS if getattr(self, verb) is not None]
        if len(given) != 1:
            raise ValueError(
                f'Expected one of {", ".join(VERBS)}, got {" and ".join(given) or "none"}'
            )
        if (self.repeat is None) != (self.steps is None):
            raise ValueError('Expected `repeat` and `steps` together')

    @property
    def verb(self) -> str:
        """The key that names the kind of this step."""
        return next(verb for verb in VERBS if getattr(self, verb) is not None)


VERBS = tuple(name for name in Step.__struct_fields__ if name not in ('steps', 'note', 'expect'))


class StartingNodes(Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes that exist at the start; `data` is that of each node, besides its place."""

    count: Count
    zone: str | None = None
    region: str | None = None
    data: dict[str, Any] = {}


class Cluster(Struct, frozen=True, forbid_unknown_fields=True):
    """The cluster; it starts with `nodes`, by default with none."""

    name: str = 'simulated'
    min_size: Annotated[int, Meta(ge=0)] = 0
    max_size: int = -1
    region: str | None = None
    nodes: list[StartingNodes] = []


class Scenario(Struct, frozen=True, forbid_unknown_fields=True):
    """A cluster with its policies, its cloud, and the steps to play.

    :ivar start: the simulated time before the first step; each step takes one minute.
    """

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
        """The cloud at the start."""
        return Inventory.parse(self.cloud, '`$.cloud`')

    @property
    def length(self) -> int:
        """The number of steps, with each repetition counted."""
        return _length(self.steps)

    def unrolled(self) -> Iterator[Step]:
        """Yield all steps in order, with repetitions expanded."""
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
