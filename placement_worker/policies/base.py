"""The plugin interface: the base class of policies and the objects that they exchange.

A policy is a class with a type name, versions of its properties, a priority and targets. The
registry creates one object per spec, and the chain calls its `check`. A policy returns a new
`Outcome` and does not change the objects that it receives; if it cannot decide, it raises
`Rejected`.
"""

import datetime
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, Literal, TypeVar, cast

import msgspec
from msgspec import Struct, structs

from placement_worker.cloud.ports import Cloud
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract.action_data import ActionData
from placement_worker.contract.actions import OF_A_NODE
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
from placement_worker.planning import sizing, victims
from placement_worker.planning.places import Cordon
from placement_worker.planning.victims import Members, Protection
from placement_worker.policies.resolved_places import Places

# Major and minor version. The worker skips policies of another major or a later minor version.
INTERFACE = (2, 0)

BEFORE: Phase = 'BEFORE'
AFTER: Phase = 'AFTER'
# The path of the properties in a request to validate a spec, for the texts of its errors.
PROPERTIES = '$.spec.properties'
P = TypeVar('P', bound=Struct)
S = TypeVar('S', bound=Struct)


def on(phase: Phase, *actions: str) -> frozenset[tuple[Phase, str]]:
    """:raises TypeError: an action is not a string, e.g. a list of actions."""
    if not all(isinstance(action, str) for action in actions):
        raise TypeError(f'on must get each action as an argument of its own, got {actions[0]!r}')
    return frozenset((phase, action) for action in actions)


class Outcome(Struct, frozen=True):
    """The decision of a policy.

    :ivar reason: a sentence for operators.
    :ivar data: the whole new data of the action, or None if it stays the same.
    :ivar nodes: the patches of nodes, by node id.
    """

    outcome: Literal['APPLIED', 'SKIPPED']
    reason: str
    data: Mapping[str, Any] | None = None
    nodes: Mapping[str, NodePatch] = msgspec.field(default_factory=dict)
    cluster: ClusterPatch | None = None
    details: Mapping[str, Any] = msgspec.field(default_factory=dict)
    warnings: Sequence[str] = ()


class BindingOutcome(Struct, frozen=True):
    """The result of attaching or detaching; `data` is the whole new data of the binding."""

    data: Mapping[str, Any]
    nodes: Mapping[str, NodePatch] = msgspec.field(default_factory=dict)
    cluster: ClusterPatch | None = None
    warnings: Sequence[str] = ()


def older_version(schema: type[S], values: Mapping[str, Any]) -> type[S]:
    """Return the schema of a version without some properties, which it refuses.

    :param values: those properties, and class variables, with the values that the policy reads.
    """
    fields = [
        (info.name, info.type, msgspec.field(name=info.encode_name, default=info.default))
        for info in structs.fields(schema)
        if info.name not in values
    ]
    methods = {
        name: getattr(schema, name)
        for name in dir(schema)
        if name not in schema.__struct_fields__
        and (name in ('__doc__', '__post_init__') or not name.startswith('__'))
    }
    made = msgspec.defstruct(
        schema.__name__,
        fields,
        namespace={**methods, **values},
        module=schema.__module__,
        frozen=True,
        forbid_unknown_fields=True,
    )
    return cast('type[S]', made)


def skipped(reason: str) -> Outcome:
    return Outcome('SKIPPED', reason)


class State(Struct, frozen=True):
    """The state of a check after the earlier policies, with their patches of nodes and cluster.

    :ivar cloud: the cloud, with one response to each lookup per check.
    :ivar max_nodes: the largest size that a creation may lead to.
    :ivar now: the time of the decision, with its time zone. A policy must not read a clock: replay
        sets the recorded time.
    :ivar binding: that of the policy.
    :ivar left_s: returns the seconds until the request expires; at 0 a policy must not change the
        cloud any more.
    :ivar cordons: those in force at `now`.
    """

    action_data: ActionData
    cloud: Snapshot
    max_nodes: int
    now: datetime.datetime
    nodes: Mapping[str, NodePatch] = msgspec.field(default_factory=dict)
    cluster: ClusterPatch | None = None
    binding: Binding | None = None
    left_s: Callable[[], float] = lambda: math.inf
    cordons: Sequence[Cordon] = ()
    members: Members = msgspec.field(default_factory=Members)
    _places: Places | None = None

    @property
    def data(self) -> Mapping[str, Any]:
        return self.action_data.data

    @property
    def places(self) -> Places:
        """The places of the placement policies; a request to attach or detach has none."""
        if self._places is None:
            raise TypeError('Only the state of a check has places')
        return self._places

    def size(self, request: CheckRequest) -> sizing.Size:
        return sizing.size_of(request.action, self.action_data, request.cluster, self.max_nodes)

    def protected(self, request: CheckRequest) -> dict[str, Protection]:
        """Return the nodes that must not be deleted now, by id.

        The node of the action counts only for an action of one node. In another action it need not
        be a member of the cluster, and would reduce the number of members that can be deleted.
        """
        action = request.action
        versions = [*self.members.marked]
        if self.nodes:
            versions += [node for node in request.cluster.nodes if node.id in self.nodes]
        if action.node and action.action in OF_A_NODE:
            versions.append(action.node)
        return victims.protections_in_force(versions, self.nodes, self.now)

    def node_data(self, node: Node) -> Data:
        patch = self.nodes.get(node.id)
        return patch.data if patch else node.data


class Policy(ABC, Generic[P]):
    """The base class of policies.

    One object serves all requests with the same spec, also concurrent ones. It must therefore keep
    no values of a request.

    :cvar interface: the version of this interface that the class implements. A class of another
        package must define it itself.
    :cvar name: e.g. senlin.policy.zone_placement; the entry point's name appends the version.
    :cvar versions: version -> the schema of its properties.
    :cvar support_status: version -> its statuses, the oldest first.
    :cvar priority: policies with lower priorities run first; a binding may override it.
    :cvar profile_types: the types of profiles that it supports; None for all.
    :cvar stored_as: the key of the binding's data that `attach` writes. With it, a binding whose
        spec names another type by mistake can be detached.
    :cvar after: names of types that run before this one, regardless of priorities.
    :cvar inputs: keys of an action's inputs that it reads, in addition to those of Senlin.
    :cvar exclusive: whether at most one policy of this type may decide in a check.
    :ivar type_name: `name` with the version of the spec; the registry sets it.
    :ivar conversions: warnings of values that Senlin changes; the registry sets it.
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
    type_name: str = ''
    conversions: Sequence[str] = ()

    def __init__(self, properties: P) -> None:
        self.properties = properties

    def check_attachable(self) -> None:
        """Check that the policy could be attached, without a cloud.

        A check of properties in their schema would also refuse the checks and the detachment of
        policies that are attached already.

        :raises InvalidSpec: naming the path of the value.
        """

    def check_resources(self, cloud: Cloud) -> None:
        """Check that the cloud has all resources that the properties name.

        :raises InvalidSpec: naming all that are missing, and the path of the first.
        :raises Rejected: the cloud does not respond.
        """

    def attach(self, request: BindRequest, state: State) -> BindingOutcome:
        """Prepare the cloud for the policy.

        :raises Rejected: it failed; all changes are undone.
        """
        return BindingOutcome(request.policy.data)

    def detach(self, request: BindRequest, state: State) -> BindingOutcome:
        """Undo the changes of `attach`; objects that are already gone count as removed.

        An invalid spec does not prevent detaching: if it does not match the schema or names a
        version that is not installed, `properties` has the value None, and the binding's data must
        suffice.

        :raises Rejected: it failed; the policy stays attached.
        """
        return BindingOutcome(request.policy.data)

    @abstractmethod
    def check(self, request: CheckRequest, state: State) -> Outcome:
        """:raises Rejected: no decision is possible; the text becomes the reason of the reply."""
