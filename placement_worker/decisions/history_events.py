"""The events in the history of a node, from one record of a decision log."""

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import Struct

from placement_worker.cloud.snapshot import stated_place
from placement_worker.contract import action_data
from placement_worker.contract.model import BindReply, BindRequest, CheckReply, CheckRequest, Node
from placement_worker.decisions import final_places
from placement_worker.decisions.records import Entry
from placement_worker.formats import text as moments
from placement_worker.formats.text import counted
from placement_worker.planning.shortage import is_evidence
from placement_worker.policies.load_balancing.member_change import MEMBER
from placement_worker.policies.places import deleted_ids, stated_location

Kind = Literal['placed', 'chosen', 'spared', 'unnamed', 'joined', 'left', 'failed', 'recorded']


class Event(Struct, frozen=True, omit_defaults=True):
    """The effect of one decision on a node.

    `cluster`: name or id. `policies`: name, type and reason of each policy that was not skipped.
    `version` and `host`: those of the worker. `packages`: those of the record. `place`: region and
    zone of the node. `places`: the rows of the plans by region and zone. `warnings`: those of the
    reply.
    """

    at: datetime.datetime
    event: Kind
    node: str
    action: str
    text: str
    cluster: str
    policies: list[str]
    version: str
    action_id: str | None = None
    request_id: str | None = None
    host: str | None = None
    packages: list[str] = []
    place: str | None = None
    places: list[dict[str, Any]] = []
    warnings: list[str] = []


@dataclass(frozen=True, slots=True)
class Record:
    """A record with its request and its reply."""

    entry: Entry
    request: CheckRequest | BindRequest
    reply: CheckReply | BindReply

    def event(self, kind: Kind, node: Node, text: str, *, plans: bool = False) -> Event:
        """Return an event of this record."""
        action = self.request.action if isinstance(self.request, CheckRequest) else None
        return Event(
            at=self.entry.at,
            event=kind,
            node=node.id,
            action=action.action if action else self.entry.method,
            text=text,
            cluster=self.request.cluster.name or self.request.cluster.id,
            policies=list(self._policies()),
            version=self.entry.version,
            action_id=action.id if action else None,
            request_id=self.entry.request_id,
            host=self.entry.host,
            packages=self.entry.packages,
            place=place_of(node),
            places=final_places.rows(self.reply) if plans else [],
            warnings=self.reply.warnings,
        )

    def _policies(self) -> Iterator[str]:
        if isinstance(self.request, BindRequest):
            policy = self.request.policy
            yield _named_type(policy.name or policy.id, policy.spec.type_name)
        elif isinstance(self.reply, CheckReply):
            for one in self.reply.decisions:
                if one.outcome != 'SKIPPED':
                    named = _named_type(one.policy_name or one.policy_id, one.policy_type)
                    yield f'{named}: {one.reason}'


def place_of(node: Node) -> str | None:
    """Return region and zone of a node in words, as far as the record names them."""
    region, zone = stated_place(node)
    parts = (f'region {region}' if region else '', f'zone {zone}' if zone else '')
    return ', '.join(filter(None, parts)) or None


def placed(record: Record, node: Node) -> Event:
    """Return the event of a new node, whose data name the place, with the plan."""
    patch = record.reply.nodes.get(node.id)
    place = place_of(Node(node.id, data=patch.data if patch else node.data))
    text = f'in {place}' if place else f'nowhere: {reason(record)}'
    return record.event('placed', node, text, plans=True)


def recorded(record: Record, nodes: Iterable[Node]) -> Iterator[Event]:
    """Yield the failures that the cluster remembers for nodes that the action deletes."""
    check = record.request
    if not isinstance(check, CheckRequest):
        return
    deleted = deleted_ids(check, data_of_action(record))
    kept = action_data.recorded_failures((record.reply.cluster or check.cluster).data)
    by_place = {(one.region_name, one.zone): one for one in kept}
    for node in nodes:
        failure = by_place.get(stated_location(node, check))
        if failure and node.id in deleted and is_evidence(node):
            attempts = counted(failure.attempts, 'failed attempt')
            text = (
                f'{attempts} in {place_of(node)}, the latest at {moments.day_or_time(failure.at)}'
            )
            yield record.event('recorded', node, text)


def pool_changes(record: Record, nodes: Iterable[Node]) -> Iterator[Event]:
    """Yield the changes of the nodes' pool members."""
    for node in nodes:
        patch = record.reply.nodes.get(node.id)
        if patch is None:
            continue
        before, after = node.data.get(MEMBER), patch.data.get(MEMBER)
        if before and before != after:
            yield record.event('left', node, f'member {before} was removed')
        if after and before != after:
            yield record.event('joined', node, f'member {after} was added')
        if patch.status_reason and patch.status != 'ACTIVE':
            yield record.event('failed', node, patch.status_reason)


def failures(record: Record, acted_on: Node | None, nodes: Iterable[Node]) -> Iterator[Event]:
    """Yield the failure of a check for nodes that its action or its reason names."""
    text = reason(record)
    for node in nodes:
        if node is acted_on or _names(text, node.id):
            yield record.event('failed', node, text)


def reason(record: Record) -> str:
    """Return the reason of a check."""
    return str(data_of_action(record).get('reason', ''))


def data_of_action(record: Record) -> Mapping[str, Any]:
    """Return the data of the action in the reply to a check."""
    return record.reply.action.data if isinstance(record.reply, CheckReply) else {}


def _named_type(name: str, policy_type: str) -> str:
    return f'{name} ({policy_type})'


def _names(text: str, node_id: str) -> bool:
    """Return whether a text has an id as a whole: "n12 is protected" does not name n1."""
    return re.search(rf'(?<![\w-]){re.escape(node_id)}(?![\w-])', text) is not None
