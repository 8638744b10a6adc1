"""The interface of a policy, public and versioned: what a plug-in implements and what it is given.

A policy is a class with its type, the versions of its properties, its priority and what it handles.
The chain makes one object of it for each binding and asks it to `check`. It answers with a new
`Outcome` and changes nothing that it was given; if it cannot decide, it raises a `Rejected` error.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, TypeVar

from msgspec import Struct

from placement_worker.cloud.ports import Cloud
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract.action_data import ActionData
from placement_worker.contract.model import (
    Binding,
    BindRequest,
    CheckRequest,
    ClusterPatch,
    Data,
    Node,
    NodePatch,
    Phase,
    SupportStatus,
)
from placement_worker.planning import sizing

INTERFACE = (2, 0)
"""Major and minor version of this interface; a policy made for another major version is refused at
start.
"""

BEFORE: Phase = 'BEFORE'
AFTER: Phase = 'AFTER'
P = TypeVar('P', bound=Struct)


def on(phase: Phase, *actions: str) -> frozenset[tuple[Phase, str]]:
    """The pairs of phase and action that a policy handles."""
    return frozenset((phase, action) for action in actions)


@dataclass(frozen=True, slots=True)
class State:
    """What the policies before left, and where to ask the cloud.

    `data`: the action's; `action_data`: typed views of it. `nodes` and `cluster`: what changed so far.
    `max_nodes`: the most nodes that a creation may lead to. `binding`: that of the policy which is
    asked. `left_s`: how many seconds the caller still waits; at 0 nothing may be
    written any more.
    """

    data: Mapping[str, Any]
    cloud: Snapshot
    max_nodes: int
    nodes: Mapping[str, NodePatch] = field(default_factory=dict)
    cluster: ClusterPatch | None = None
    binding: Binding | None = None
    left_s: Callable[[], float] = lambda: math.inf
    action_data: ActionData = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, 'action_data', ActionData(self.data))

    def size(self, request: CheckRequest) -> sizing.Size:
        """How many nodes are created or deleted, as `sizing.size_of` says."""
        return sizing.size_of(request.action, self.action_data, request.cluster, self.max_nodes)

    def node_data(self, node: Node) -> Data:
        """The node's data with what earlier policies changed."""
        patch = self.nodes.get(node.id)
        return patch.data if patch else node.data


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a policy decided, complete: `data` replaces the action's data; None leaves it as it is.

    `warnings`: sentences that an operator must see, for the reply, the log and the command line.
    """

    outcome: Literal['APPLIED', 'SKIPPED']
    reason: str
    data: Mapping[str, Any] | None = None
    nodes: Mapping[str, NodePatch] = field(default_factory=dict)
    cluster: ClusterPatch | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    warnings: Sequence[str] = ()

    def __post_init__(self) -> None:
        _see_that_it_fits(self)


@dataclass(frozen=True, slots=True)
class BindingOutcome:
    """What attaching or detaching a policy leaves: `data` is the whole data of the binding.

    `warnings`: as those of an `Outcome`.
    """

    data: Mapping[str, Any]
    nodes: Mapping[str, NodePatch] = field(default_factory=dict)
    cluster: ClusterPatch | None = None
    warnings: Sequence[str] = ()

    def __post_init__(self) -> None:
        _see_that_it_fits(self)


def _see_that_it_fits(what: Outcome | BindingOutcome) -> None:
    """A plug-in that gives something else hears of it here, and not whoever reads the reply.

    :raises TypeError: a node's patch is no NodePatch, the cluster's no ClusterPatch, or the
        warnings are no strings.
    """
    for node_id, patch in what.nodes.items():
        if not isinstance(patch, NodePatch):
            raise TypeError(f'nodes[{node_id!r}] is to be a NodePatch, got {type(patch).__name__}')
    if what.cluster is not None and not isinstance(what.cluster, ClusterPatch):
        raise TypeError(f'cluster is to be a ClusterPatch, got {type(what.cluster).__name__}')
    if isinstance(what.warnings, str) or not all(
        isinstance(warning, str) for warning in what.warnings
    ):
        raise TypeError('warnings is to be a sequence of strings')


def skipped(reason: str) -> Outcome:
    """The policy has nothing to do here."""
    return Outcome('SKIPPED', reason)


class Policy(ABC, Generic[P]):
    """One bound policy.

    :cvar interface: the version of this module that the class was written for.
    :cvar name: e.g. senlin.policy.zone_placement; with a version, the entry point's name.
    :cvar versions: version -> the schema of its properties.
    :cvar support_status: version -> its statuses, the oldest first.
    :cvar priority: lower ones run first; a binding may say otherwise.
    :cvar targets: the pairs of phase and action that it handles; see `on`.
    :cvar profile_types: the types it works with; None for any.
    :cvar stored_as: the key of the binding's data under which `attach` stores, if it does: with it
        a binding can be detached whose spec names no installed type.
    :cvar after: names of types that it builds on: they run before it, whatever the priorities of
        the bindings.
    :cvar inputs: keys of an action's inputs that it reads and Senlin does not know.
    :cvar exclusive: whether at most one policy of this type may decide in a check.
    """

    interface: ClassVar[tuple[int, int]] = INTERFACE
    name: ClassVar[str]
    versions: ClassVar[Mapping[str, type[Struct]]]
    support_status: ClassVar[Mapping[str, Sequence[SupportStatus]]] = {}
    priority: ClassVar[int]
    targets: ClassVar[frozenset[tuple[Phase, str]]]
    profile_types: ClassVar[frozenset[str] | None] = None
    stored_as: ClassVar[str | None] = None
    after: ClassVar[frozenset[str]] = frozenset()
    inputs: ClassVar[frozenset[str]] = frozenset()
    exclusive: ClassVar[bool] = False

    def __init__(self, properties: P) -> None:
        self.properties = properties

    def check_resources(self, cloud: Cloud) -> None:
        """See that the cloud has what the properties name; nothing, unless a policy says otherwise.

        :raises InvalidSpec: naming everything that it has not.
        :raises Rejected: the cloud gives no answer.
        """

    def attach(self, request: BindRequest, state: State) -> BindingOutcome:
        """Prepare the cloud for the policy; nothing, unless a policy says otherwise.

        :raises Rejected: it cannot be done; nothing that was made for it is left.
        """
        return BindingOutcome(request.policy.data)

    def detach(self, request: BindRequest, state: State) -> BindingOutcome:
        """Undo what `attach` did; what is gone already counts as undone.

        A spec never prevents detaching: `properties` is None here if the spec does not fit the
        schema or names a version that is not installed. The binding's data must suffice.

        :raises Rejected: it cannot be done; the policy stays attached.
        """
        return BindingOutcome(request.policy.data)

    @abstractmethod
    def check(self, request: CheckRequest, state: State) -> Outcome:
        """Decide, for a phase and action of `targets`.

        :raises Rejected: it cannot be decided; the text becomes the reply's reason, word for word.
        """
