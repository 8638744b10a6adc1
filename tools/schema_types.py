"""The messages and the maps of the contract that no module of the package declares as a Struct.

The worker reads the inputs and the data of an action key by key (`contract.inputs` and
`contract.action_data`), and builds notifications and error replies as plain data. Their Structs
here serve the JSON Schemas only; `tests/unit/contract/test_schemas.py` compares them with what the
worker sends and reads.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from placement_worker.contract import inputs, rpc
from placement_worker.contract.model import BindReply, CheckReply, Data, Error, Phase

Natural = Annotated[int, Meta(ge=0)]
Counts = dict[str, Natural]
NodeIds = Annotated[list[str], Meta(extra_json_schema={'uniqueItems': True})]
Candidates = NodeIds | dict[str, Any] | None
"""The victims that the action names; of a map, its keys."""


class CommonInputs(Struct):
    """Inputs of every action; the engine adds them."""

    action_result: str | None = None
    last_op: Any = None


class ScaleOutInputs(inputs.ScaleInputs, frozen=True):
    """Inputs of CLUSTER_SCALE_OUT."""

    count: Natural = 1


class ScaleInInputs(ScaleOutInputs, frozen=True):
    """Inputs of CLUSTER_SCALE_IN."""

    candidates: Candidates = None


class ResizeInputs(inputs.ResizeInputs, frozen=True):
    """Inputs of CLUSTER_RESIZE; null counts as absent."""

    min_size: Natural | None = None
    min_step: Natural | None = 0
    strict: bool | None = False
    candidates: Candidates = None


class CandidateInputs(inputs.CandidateInputs, frozen=True):
    """Inputs of CLUSTER_DEL_NODES."""

    candidates: Candidates = None
    count: Natural | None = None
    destroy_after_deletion: bool | None = None


class ReplaceInputs(inputs.ReplaceInputs, frozen=True):
    """Inputs of CLUSTER_REPLACE_NODES."""


class PlaceCount(Struct):
    """A number of nodes in a zone of a region, or in a region without usable zones."""

    region_name: Annotated[str, Meta(description='the region')]
    count: Annotated[Natural, Meta(description='the number of nodes')]
    zone: Annotated[
        str | None, Meta(description='the zone; null if the region has no usable zone')
    ] = None


class PlacementEntry(Struct):
    """The place of one node to create."""

    region_name: Annotated[str | UnsetType, Meta(description='the region of the node')] = UNSET
    zone: Annotated[str | UnsetType, Meta(description='the zone of the node')] = UNSET


class Alternative(Struct):
    """The places to try next if a node cannot be created in its place."""

    place: Annotated[PlacementEntry, Meta(description='a place of the plan')]
    retry: Annotated[
        list[PlacementEntry], Meta(description='the places to try next, the best one first')
    ]


class Creation(Struct):
    """The creation that policies decided, and the nodes that the engine has created."""

    count: Natural = 1
    regions: Counts | UnsetType = UNSET
    zones: Counts | UnsetType = UNSET
    region: Counts | UnsetType = UNSET
    zone: Counts | UnsetType = UNSET
    places: list[PlaceCount] | UnsetType = UNSET
    alternatives: list[Alternative] | UnsetType = UNSET
    nodes: NodeIds | UnsetType = UNSET


class Deletion(Struct):
    """The deletion that policies decided."""

    count: Natural = 1
    regions: Counts | UnsetType = UNSET
    zones: Counts | UnsetType = UNSET
    region: Counts | UnsetType = UNSET
    zone: Counts | UnsetType = UNSET
    places: list[PlaceCount] | UnsetType = UNSET
    candidates: NodeIds | UnsetType | None = UNSET
    destroy_after_deletion: bool | UnsetType = UNSET
    grace_period: Natural | UnsetType = UNSET
    reduce_desired_capacity: bool | UnsetType = UNSET


class Placement(Struct):
    """The places of the nodes to create, in order."""

    count: Natural | UnsetType = UNSET
    placements: list[PlacementEntry] | UnsetType = UNSET


class HookParams(Struct):
    """The recipient of a hook's message."""

    queue: Annotated[str, Meta(description='the Zaqar queue')] = ''
    url: Annotated[str, Meta(description='the URL of a webhook')] = ''


class Hooks(Struct):
    """The message that the engine sends before it deletes a node."""

    type: Literal['zaqar', 'webhook']
    timeout: Natural
    params: HookParams


class ActionData(Struct):
    """The decisions of policies about an action."""

    creation: Annotated[Creation | UnsetType, Meta(description='the nodes to create')] = UNSET
    deletion: Annotated[Deletion | UnsetType, Meta(description='the nodes to delete')] = UNSET
    placement: Annotated[
        Placement | UnsetType, Meta(description='the places of the nodes to create')
    ] = UNSET
    hooks: Annotated[
        Hooks | UnsetType, Meta(description='the lifecycle hooks of the nodes to delete')
    ] = UNSET


class DecidedData(ActionData, kw_only=True):
    """The complete new data of an action: the result of the check and all decisions."""

    status: Literal['OK', 'ERROR']
    reason: str


MAPS = (CommonInputs, ActionData, DecidedData)
"""The maps of an action that are free-form for the decoder."""


class ErrorReply(Struct):
    """The reply to a cast that was not decided."""

    error: Annotated[Error, Meta(description='the exception in place of a reply')]


class ClusterId(Struct):
    """The cluster of a request."""

    id: Annotated[str, Meta(description='the id of the cluster')]


class ClusterResult(ClusterId):
    """The cluster of a request, with its new data if they changed."""

    data: Annotated[Data | UnsetType, Meta(description='the complete new map')] = UNSET


class ActionName(Struct):
    """The action of a check."""

    id: Annotated[str, Meta(description='the id of the action')]
    action: Annotated[str, Meta(description='the name of the action')]


class PolicyName(Struct):
    """The policy to attach or detach; `type` is type and version."""

    id: Annotated[str, Meta(description='the id of the policy')]
    name: Annotated[str | None, Meta(description='the name of the policy')]
    type: Annotated[str, Meta(description='the type and version of the policy')]


RequestId = Annotated[str | None, Meta(description='the id in the context of the caller')]
Target = Annotated[Phase, Meta(description='the phase of the check')]
ClusterEnd = Annotated[ClusterResult, Meta(description='the cluster of the request')]


class CheckStart(Struct):
    """Payload of the notification that the worker begins a check."""

    request_id: RequestId
    cluster: Annotated[ClusterId, Meta(description='the cluster of the request')]
    target: Target
    action: Annotated[ActionName, Meta(description='the action of the check')]


class BindStart(Struct):
    """Payload of the notification that the worker begins to attach or detach a policy."""

    request_id: RequestId
    cluster: Annotated[ClusterId, Meta(description='the cluster of the request')]
    policy: Annotated[PolicyName, Meta(description='the policy to attach or detach')]


class CheckEnd(CheckReply, frozen=True, kw_only=True):
    """Payload of the notification that a check has ended: the reply with ids."""

    request_id: RequestId
    target: Target
    cluster: ClusterEnd  # type: ignore[assignment]


class BindEnd(BindReply, frozen=True, kw_only=True):
    """Payload of the notification that attaching or detaching has ended: the reply with ids."""

    request_id: RequestId
    cluster: ClusterEnd  # type: ignore[assignment]


class Failure(Struct):
    """Payload of the notification of an error: the class and the text that a caller sees."""

    request_id: RequestId
    class_: Annotated[str, Meta(description='the class of the exception')] = field(name='class')
    message: Annotated[str, Meta(description='the text of the exception')]


class MessageArguments(Struct):
    """The arguments of a method."""

    request: Annotated[
        dict[str, Any] | str,
        Meta(description='the request of the method: an object, or its JSON as a text'),
    ]


class SentMessage(Struct):
    """A call or a cast as its sender published it."""

    method: Annotated[str, Meta(description='the name of the method')]
    args: Annotated[MessageArguments, Meta(description='the arguments of the method')]
    version: Annotated[str, Meta(description='the version of the contract')] = rpc.VERSION
    unique_id: Annotated[str | UnsetType, Meta(description='the id of the message')] = field(
        default=UNSET, name='_unique_id'
    )
    msg_id: Annotated[str | UnsetType, Meta(description='the id for the reply to a call')] = field(
        default=UNSET, name='_msg_id'
    )
    reply_q: Annotated[str | UnsetType, Meta(description='the queue for the reply to a call')] = (
        field(default=UNSET, name='_reply_q')
    )
    request_id: Annotated[Any, Meta(description='the request id in the context of the caller')] = (
        field(default=None, name='_context_request_id')
    )


class Envelope(Struct):
    """The envelope of oslo.messaging."""

    version: Annotated[Literal['2.0'], Meta(description='the version of the envelope')] = field(
        name='oslo.version'
    )
    message: Annotated[
        str,
        Meta(
            description='the message as a JSON text',
            extra_json_schema={
                'contentMediaType': 'application/json',
                'contentSchema': {'$ref': '#/$defs/SentMessage'},
            },
        ),
    ] = field(name='oslo.message')


class ParkedHeaders(Struct):
    """The headers that the worker adds to a request that it parks."""

    id: Annotated[
        str,
        Meta(
            description='the id of the parked request in placement-policy parked',
            pattern='^[0-9a-f]{12}$',
        ),
    ] = field(name='parked-id')
    at: Annotated[
        datetime, Meta(description='the time at which the request was parked', tz=True)
    ] = field(name='parked-at')
    topic: Annotated[str, Meta(description='the topic from which the request came')] = field(
        name='parked-from'
    )
    retried: Annotated[
        str | UnsetType,
        Meta(description='the id under which the request was parked before it was retried'),
    ] = UNSET


class ParkedRequest(Struct):
    """A message in the parking lot."""

    headers: Annotated[ParkedHeaders, Meta(description='the headers of the AMQP message')]
    body: Annotated[Envelope, Meta(description='the body of the AMQP message, which is JSON')]


TEXTS = (SentMessage,)
"""The contents of JSON texts inside messages."""
