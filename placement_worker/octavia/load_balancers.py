"""The load balancer that belongs to one policy of one cluster.

A worker may die at any step, and two workers may attach the same policy at once. Therefore no
state is kept: objects with the tags of policy and cluster are adopted, and missing parts are
created. If several load balancers have the tags, the order of `_rank` selects the same
one in every worker, and the others are deleted. Otherwise a lost reply or a race would leak a load
balancer that no binding names.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from placement_worker.cloud.ports import ApiError, ObjectKind, Resource
from placement_worker.errors import InvalidInput, LoadBalancerFailed, LoadBalancerGone
from placement_worker.octavia.updater import (
    NOT_FOUND,
    Updater,
    Write,
    refuses_nested_creation,
    unless_gone,
)

# The precision of Octavia's `created_at`. A load balancer that is older by a tick stays selected: a
# worker that listed the tagged ones before it existed creates a younger one.
_CREATION_TICK_S = 1.0
# The prefix of all tags that policies give to objects.
TAG_PREFIX = 'placement-worker:'


@dataclass(frozen=True, slots=True)
class Layout:
    """The bodies of a load balancer's parts, without links and marks; None stands for a default."""

    name: str  # the name of each part
    load_balancer: Mapping[str, Any]
    listener: Mapping[str, Any]
    pool: Mapping[str, Any]
    monitor: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class LoadBalancer:
    """The ids of a complete load balancer and its parts.

    :ivar found_at: when it was found or created, by the clock of the Octavia settings.
    """

    id: str
    listener: str | None
    pool: str
    monitor: str | None
    vip_address: str | None
    found_at: float = 0

    @property
    def ids(self) -> dict[str, str]:
        ids = {
            'loadbalancer': self.id,
            'listener': self.listener,
            'pool': self.pool,
            'healthmonitor': self.monitor,
        }
        return {kind: part for kind, part in ids.items() if part is not None}


def tags_of(cluster_id: str, policy_id: str) -> list[str]:
    return [f'{TAG_PREFIX}cluster={cluster_id}', f'{TAG_PREFIX}policy={policy_id}']


def find_load_balancer(updater: Updater, name_or_id: str) -> Resource | None:
    """Return the load balancer with this id or name, or None.

    :raises InvalidInput: several load balancers have this name.
    """
    by_id = find_object(updater, 'loadbalancer', name_or_id)
    if by_id is not None:
        return by_id
    named = updater.read(updater.octavia.find, 'loadbalancer', name=name_or_id)
    if len(named) > 1:
        raise InvalidInput(
            f'{len(named)} load balancers have the name {name_or_id}: name one by its id.'
        )
    return named[0] if named else None


def find_object(updater: Updater, kind: ObjectKind, object_id: str) -> Resource | None:
    return unless_gone(updater.read, updater.octavia.show, kind, object_id)


@dataclass(frozen=True, slots=True)
class OwnLoadBalancers:
    """The load balancers that carry the tags of one policy and one cluster: at most one stays.

    :ivar known: the ids of one that Senlin has created without tags, by kind.
    """

    updater: Updater
    tags: Sequence[str]
    known: Mapping[str, str] = field(default_factory=dict)

    def ensure(self, layout: Layout) -> LoadBalancer:
        """Find or create the load balancer and all its parts.

        :raises LoadBalancerGone: another worker deleted or replaced it.
        :raises Rejected: it failed; parts of it may be left, see `remove`.
        :raises ApiError: Octavia refused a change.
        """
        lb_id = self._elect() or self._create(layout)
        found_at = self.updater.settings.clock()
        with self.gone_if_replaced(lb_id):
            return self._complete(layout, lb_id, found_at)

    def confirm(self, balancer: LoadBalancer) -> None:
        """Raise `LoadBalancerGone` if another worker replaced it; after this, no worker can."""
        self.updater.wait_until(balancer.found_at + _CREATION_TICK_S)
        if self._elect() != balancer.id:
            raise LoadBalancerGone(f'Another worker replaced load balancer {balancer.id}')

    @contextmanager
    def gone_if_replaced(self, lb_id: str) -> Iterator[None]:
        """Raise `LoadBalancerGone` for failures of the block that another worker caused."""
        try:
            yield
        except LoadBalancerGone:
            raise
        except (ApiError, LoadBalancerFailed) as exc:
            if [balancer['id'] for balancer in self._ranked()[:1]] == [lb_id]:
                raise
            raise LoadBalancerGone(str(exc)) from exc

    def remove(self) -> None:
        """Delete the load balancers, and the known one, with all their parts.

        :raises LoadBalancerFailed: one still exists; the others are deleted.
        :raises ApiError: Octavia does not list them.
        """
        known = [self.known['loadbalancer']] if 'loadbalancer' in self.known else []
        tagged = [balancer['id'] for balancer in self._listed('loadbalancer')]
        failures = []
        for lb_id in dict.fromkeys([*known, *tagged]):
            try:
                self.updater.delete_load_balancer(lb_id)
            except LoadBalancerFailed as exc:
                failures.append(exc)
        for failure in failures:
            raise failure

    def remove_failed(self) -> None:
        """Delete the load balancers that earlier attempts left in ERROR."""
        for balancer in self._ranked():
            if balancer['provisioning_status'] == 'ERROR':
                self.updater.delete_load_balancer(balancer['id'])

    def _elect(self) -> str | None:
        ranked = [str(balancer['id']) for balancer in self._ranked()]
        for lb_id in ranked[1:]:
            self.updater.delete_load_balancer(lb_id)
        return ranked[0] if ranked else None

    def _create(self, layout: Layout) -> str:
        try:
            self._create_balancer(self._nested(layout))
        except ApiError as exc:
            if not refuses_nested_creation(exc):
                raise
            self._create_balancer(self._marked(layout, layout.load_balancer))
        selected = self._elect()
        if selected is None:
            raise LoadBalancerGone(f'Load balancer {layout.name} was deleted during its creation')
        return selected

    def _create_balancer(self, body: Resource) -> None:
        self.updater.create(
            Write(
                lambda: self.updater.octavia.create('loadbalancer', body),
                lambda: bool(self._ranked()),
            )
        )

    def _complete(self, layout: Layout, lb_id: str, found_at: float) -> LoadBalancer:
        balancer = self.updater.wait_active(lb_id)
        monitor = None
        try:
            body = {**layout.listener, 'loadbalancer_id': lb_id}
            listener = self._ensure_part(layout, lb_id, 'listener', body, lb_id)
            body = {**layout.pool, 'listener_id': listener}
            pool = self._ensure_part(layout, lb_id, 'pool', body, lb_id)
            if layout.monitor:
                body = {**layout.monitor, 'pool_id': pool}
                monitor = self._ensure_part(layout, lb_id, 'healthmonitor', body, pool)
        except ApiError as exc:
            if exc.status != NOT_FOUND:
                raise
            raise LoadBalancerGone(f'Load balancer {lb_id} does not exist any more') from exc
        return LoadBalancer(lb_id, listener, pool, monitor, balancer.get('vip_address'), found_at)

    def _ensure_part(
        self, layout: Layout, lb_id: str, kind: ObjectKind, body: Mapping[str, Any], parent: str
    ) -> str:
        marked = self._marked(layout, body)
        part = self._find_part(kind, parent)
        if part is None:
            self.updater.update(
                lb_id,
                Write(
                    lambda: self.updater.octavia.create(kind, marked),
                    lambda: self._find_part(kind, parent) is not None,
                ),
            )
            part = self._find_part(kind, parent)
        if part is None:
            raise LoadBalancerGone(f'The {kind} of load balancer {lb_id} was deleted')
        return part

    def _find_part(self, kind: ObjectKind, parent: str) -> str | None:
        """Return the id of a tagged part, or None.

        :param parent: the id of the load balancer, or of the pool for a health monitor.
        """
        parts = (part['id'] for part in self._tagged(kind) if parent in parents_of(part))
        return min(parts, default=None)

    def _tagged(self, kind: ObjectKind) -> list[Resource]:
        """Return the objects with the tags, or else the known one."""
        tagged = self._listed(kind)
        if tagged or kind not in self.known:
            return tagged
        known = find_object(self.updater, kind, self.known[kind])
        return [known] if known else []

    def _listed(self, kind: ObjectKind) -> list[Resource]:
        listed = self.updater.read(self.updater.octavia.find, kind, tags=list(self.tags))
        return [resource for resource in listed if has_tags(resource, self.tags)]

    def _ranked(self) -> list[Resource]:
        """Return the load balancers that are not being deleted, best first."""
        alive = [
            balancer
            for balancer in self._tagged('loadbalancer')
            if balancer['provisioning_status'] not in ('PENDING_DELETE', 'DELETED')
        ]
        return sorted(alive, key=_rank)

    def _marked(self, layout: Layout, body: Mapping[str, Any]) -> Resource:
        given = {key: value for key, value in body.items() if value is not None}
        return {**given, 'name': layout.name, 'tags': list(self.tags)}

    def _nested(self, layout: Layout) -> Resource:
        pool = self._marked(layout, layout.pool)
        if layout.monitor is not None:
            pool['healthmonitor'] = self._marked(layout, layout.monitor)
        listener = {**self._marked(layout, layout.listener), 'default_pool': pool}
        return {**self._marked(layout, layout.load_balancer), 'listeners': [listener]}


def has_tags(resource: Resource, tags: Sequence[str]) -> bool:
    """Return whether an object has all the tags; Octavia may list others, too."""
    return set(tags) <= set(resource.get('tags') or ())


def _rank(balancer: Resource) -> tuple[bool, str, str]:
    """Sort load balancers in ERROR last, then by age (oldest first), then by id."""
    in_error = balancer['provisioning_status'] == 'ERROR'
    return in_error, balancer.get('created_at') or '', balancer['id']


def parents_of(part: Resource) -> set[str]:
    return {parent['id'] for kind in ('loadbalancers', 'pools') for parent in part.get(kind) or ()}
