"""The requests and replies of the wire contract, frozen.

Decoding builds the whole tree at once (see `codec`). Keys that are not listed are dropped. This
protects secrets: of the properties of a profile, which may hold passwords and user data, only the
two that placement needs survive, and of the metadata of a node only one key.

`gc=False`: the objects are trees of plain data, so the garbage collector need not walk them.
"""

import datetime
from functools import cached_property
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from placement_worker.contract import inputs as action_inputs

# A free-form map, kept as received.
Data = dict[str, Any]


def in_utc(moment: datetime.datetime) -> datetime.datetime:
    """Return a time with its time zone; a time without one is in UTC."""
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


class ContractStruct(Struct, frozen=True, gc=False):
    """The base class of all objects of the contract."""


class ForeignExcerpt(ContractStruct, frozen=True):
    """The part that placement needs of an object that others define; other keys are ignored."""


class ProfileContext(ForeignExcerpt, frozen=True):
    """The part of a profile's `context` that placement needs."""

    region_name: str | None = None


class ProfileProperties(ForeignExcerpt, frozen=True):
    """The two properties of a profile that placement needs; no other one survives decoding."""

    availability_zone: str | None = None
    context: ProfileContext | None = None


class Profile(ContractStruct, frozen=True):
    """The profile of nodes; `type` is type and version, e.g. os.nova.server-1.0."""

    type: str
    id: str | None = None
    properties: ProfileProperties = ProfileProperties()
    created_at: datetime.datetime | None = None

    @property
    def zone(self) -> str | None:
        """The availability zone that the profile asks for; an empty one counts as absent."""
        return self.properties.availability_zone or None

    @property
    def region(self) -> str | None:
        """The region that the profile asks for; an empty one counts as absent."""
        context = self.properties.context
        return (context.region_name or None) if context else None


class Address(ForeignExcerpt, frozen=True, omit_defaults=True):
    """One address of a server."""

    addr: str
    version: int
    type: str | None = field(name='OS-EXT-IPS:type', default=None)


class ServerDetails(ForeignExcerpt, frozen=True):
    """The part of Nova's view of a server that placement needs."""

    availability_zone: str | None = field(name='OS-EXT-AZ:availability_zone', default=None)
    addresses: dict[str, list[Address]] = field(default_factory=dict)


class NodeMetadata(ForeignExcerpt, frozen=True):
    """The only key of a node's metadata that survives decoding."""

    protected: Any = None


class Node(ContractStruct, frozen=True, omit_defaults=True):
    """A member of a cluster."""

    id: str
    name: str | None = None
    physical_id: str | None = None
    index: int = -1
    status: str = ''
    status_reason: str | None = None
    tainted: bool = False
    created_at: datetime.datetime | None = None
    profile_id: str | None = None
    profile_created_at: datetime.datetime | None = None
    profile: Profile | None = None
    data: Data = field(default_factory=dict)
    details: ServerDetails | None = None
    metadata: NodeMetadata | None = None
    updated_at: datetime.datetime | None = None


class Cluster(ContractStruct, frozen=True):
    """A cluster with all its members; a `max_size` below zero means no limit."""

    id: str
    profile: Profile
    nodes: list[Node]
    name: str | None = None
    user: str | None = None
    project: str | None = None
    min_size: Annotated[int, Meta(ge=0)] = 0
    max_size: int = -1
    desired_capacity: int = 0
    data: Data = field(default_factory=dict)


Phase = Literal['BEFORE', 'AFTER']
Explain = Literal['none', 'summary', 'full']


class Action(ContractStruct, frozen=True, gc=True, dict=True):
    """The action that the engine is about to do or has done; `id` seeds every random choice."""

    # Each `*_inputs` decodes `inputs` on its first use, and raises InvalidInput for a value that
    # does not fit. `dict=True` stores the decoded inputs; msgspec 0.22 supports it with `gc=True`
    # only.

    id: str
    action: str
    cause: str | None = 'RPC Request'
    inputs: Data = field(default_factory=dict)
    data: Data = field(default_factory=dict)
    node: Node | None = None

    @cached_property
    def scale_inputs(self) -> action_inputs.ScaleInputs:
        return action_inputs.ScaleInputs.of(self.inputs)

    @cached_property
    def resize_inputs(self) -> action_inputs.ResizeInputs:
        return action_inputs.ResizeInputs.of(self.inputs)

    @cached_property
    def candidate_inputs(self) -> action_inputs.CandidateInputs:
        return action_inputs.CandidateInputs.of(self.inputs)

    @cached_property
    def replace_inputs(self) -> action_inputs.ReplaceInputs:
        return action_inputs.ReplaceInputs.of(self.inputs)


class Spec(ContractStruct, frozen=True, omit_defaults=True):
    """A policy's type, version and properties, as its author wrote them."""

    type: str
    version: str | int | float
    properties: Data = field(default_factory=dict)
    description: str | None = None

    @property
    def type_name(self) -> str:
        """Type and version in one, e.g. senlin.policy.deletion-1.1 (a version of 1 is 1.0)."""
        version = str(self.version)
        return f'{self.type}-{version}' + ('.0' if version.isdigit() else '')


class Binding(ContractStruct, frozen=True):
    """A policy attached to the cluster; `priority` defaults to that of its type."""

    id: str
    spec: Spec
    name: str | None = None
    enabled: bool = True
    priority: int | None = None
    data: Data = field(default_factory=dict)


class Credentials(ContractStruct, frozen=True):
    """The credentials to act for the owner of the cluster."""

    trust_id: str | None = None

    def __repr__(self) -> str:
        return 'Credentials(trust_id=***)' if self.trust_id else 'Credentials()'


# A name on the bus: the characters that AMQP 0-9-1 allows in the names of exchanges and queues.
# Wildcards are not allowed.
BusName = Annotated[str, Meta(pattern=r'^[A-Za-z0-9_.:-]*\Z', max_length=255)]
MethodName = Annotated[str, Meta(pattern=r'^[A-Za-z_][A-Za-z0-9_]*\Z', max_length=255)]


class ReplyTo(ContractStruct, frozen=True):
    """The destination of the reply to a cast."""

    exchange: BusName
    topic: Annotated[BusName, Meta(min_length=1)]
    method: MethodName


class CheckRequest(ContractStruct, frozen=True):
    """One policy check."""

    target: Phase
    action: Action
    cluster: Cluster
    policies: list[Binding]
    dry_run: bool = False
    explain: Explain = 'summary'
    credentials: Credentials = Credentials()
    expires_at: datetime.datetime | None = None
    reply_to: ReplyTo | None = None

    def nodes_by_id(self) -> dict[str, Node]:
        """Return the nodes of the cluster; the action's node, which may be newer, counts."""
        own = [self.action.node] if self.action.node else []
        return {node.id: node for node in (*self.cluster.nodes, *own)}


class BindRequest(ContractStruct, frozen=True):
    """A policy to attach to a cluster or to detach from it."""

    cluster: Cluster
    policy: Binding
    credentials: Credentials = Credentials()
    expires_at: datetime.datetime | None = None


class ActionPatch(ContractStruct, frozen=True):
    """The complete new data of the action; `data.status` is OK or ERROR, for `data.reason`."""

    id: str
    data: Data


class ClusterPatch(ContractStruct, frozen=True):
    """The complete new data of the cluster."""

    data: Data


class NodePatch(ContractStruct, frozen=True, omit_defaults=True):
    """The complete new data of a node, and its status if it changed."""

    data: Data
    status: str | None = None
    status_reason: str | None = None


class Decision(ContractStruct, frozen=True):
    """The outcome of one policy in a check, and the time it took."""

    policy_id: str
    policy_name: str | None
    policy_type: str
    priority: int
    outcome: Literal['APPLIED', 'SKIPPED', 'FAILED']
    reason: str
    elapsed_ms: float
    details: Data


class CheckReply(ContractStruct, frozen=True, kw_only=True):
    """The outcome of one policy check."""

    action: ActionPatch
    cluster: ClusterPatch | None
    nodes: dict[str, NodePatch]
    warnings: list[str] = field(default_factory=list)
    decisions: list[Decision]


class Error(ContractStruct, frozen=True):
    """The class of an exception, and its text."""

    type: str
    message: str


class BindingPatch(ContractStruct, frozen=True):
    """The complete new data of the binding, which the policy needs later."""

    id: str
    data: Data


class BindReply(ContractStruct, frozen=True, kw_only=True):
    """The outcome of attaching or detaching one policy."""

    status: Literal['OK', 'ERROR']
    reason: str
    warnings: list[str] = field(default_factory=list)
    policy: BindingPatch
    cluster: ClusterPatch | None
    nodes: dict[str, NodePatch]


class RebalanceOptions(ContractStruct, frozen=True):
    """The limits of a rebalance."""

    max_moves: Annotated[int, Meta(ge=1)] | None = None
    max_surge: Annotated[int, Meta(ge=1)] = 1
    min_gain: Annotated[float, Meta(ge=0)] = 0.0
    min_age_s: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0


class RebalanceRequest(ContractStruct, frozen=True):
    """A cluster to rebalance: its nodes, and the policies that decide where they belong."""

    cluster: Cluster
    policies: list[Binding]
    options: RebalanceOptions = RebalanceOptions()
    credentials: Credentials = Credentials()
    expires_at: datetime.datetime | None = None


class PlaceOfNode(ContractStruct, frozen=True, omit_defaults=True):
    """The place of one node, with the keys of `data.placement`."""

    region_name: str | None = None
    zone: str | None = None


class MovedNode(ContractStruct, frozen=True):
    """A node to delete in a step of a rebalance."""

    id: str
    name: str | None
    place: PlaceOfNode
    reason: str


class RebalanceImbalance(ContractStruct, frozen=True):
    """The distance of a cluster from its best counts; each step leads to a smaller one."""

    misplaced: int
    regions: float | None
    zones: float | None


class RebalanceStep(ContractStruct, frozen=True):
    """Nodes to create, and as many nodes to delete afterwards."""

    create: list[PlaceOfNode]
    scale_out: bool
    load_balancing: list[str]
    delete: list[MovedNode]
    grace_period: int
    imbalance: RebalanceImbalance


class RebalanceReply(ContractStruct, frozen=True):
    """The steps of a rebalance."""

    status: Literal['OK', 'ERROR']
    reason: str
    warnings: list[str] = field(default_factory=list)
    imbalance: RebalanceImbalance | None = None
    steps: list[RebalanceStep] = field(default_factory=list)
    details: Data = field(default_factory=dict)


class ValidateRequest(ContractStruct, frozen=True):
    """A policy spec to check; with `check_resources`, also against the resources of the cloud."""

    spec: Spec
    check_resources: bool = False


class ValidateReply(ContractStruct, frozen=True):
    """The spec with its defaults filled in."""

    spec: Spec


class TypeRequest(ContractStruct, frozen=True):
    """The name of a policy type, e.g. senlin.policy.deletion-1.1."""

    type_name: str


class Trigger(ContractStruct, frozen=True):
    """A phase of an action that a policy type handles."""

    phase: Phase
    action: str


class SupportStatus(ContractStruct, frozen=True):
    """A status of a version of a policy type, and the release of Senlin that introduced it."""

    status: Literal['EXPERIMENTAL', 'SUPPORTED', 'DEPRECATED', 'UNSUPPORTED']
    since: str


class Package(ContractStruct, frozen=True):
    """An installed package with the version that the worker has loaded."""

    name: str
    version: str


class PolicyType(ContractStruct, frozen=True, omit_defaults=True):
    """A policy type; `profile_types` is null if it supports all.

    `package`: the package that provides it; null for the types of placement-worker. `schema` is the
    JSON Schema of its properties.
    """

    name: str
    priority: int
    triggers: list[Trigger]
    profile_types: list[str] | None = None
    inputs: list[str] = []
    support_status: dict[str, list[SupportStatus]] = {}
    package: Package | None = None
    schema: Data | None = None


class Capabilities(ContractStruct, frozen=True):
    """The worker that replies: its versions, its process and its policy types.

    `contract`: the version of the contract. `host`: the `[worker] host`, to which a client can
    address a request. Both are null from workers that do not send them yet.
    """

    version: str
    policy_types: list[str]
    hostname: str
    pid: int
    started_at: datetime.datetime
    contract: str | None = None
    host: str | None = None
