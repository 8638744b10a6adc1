"""The load balancer that belongs to one policy of one cluster.

A worker may die at any step, and two workers may attach the same policy at once. Therefore no
state is kept: objects with the tags of policy and cluster are adopted, and missing parts are
created. If several load balancers have the tags, the order of `_rank` selects the same
one in every worker, and the others are deleted.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from placement_worker.cloud.ports import ApiError, Kind, Resource
from placement_worker.errors import LoadBalancerFailed, LoadBalancerGone
from placement_worker.octavia.api_errors import NOT_FOUND, is_unsupported
from placement_worker.octavia.layout import Layout, LoadBalancer
from placement_worker.octavia.updater import Change, Updater

CREATION_TICK_S = 1.0
"""The precision of Octavia's `created_at`. A load balancer that is older by a tick stays selected:
a worker that listed the tagged ones before it existed creates a younger one."""


@dataclass(frozen=True, slots=True)
class CreateLoadBalancer(Change):
    """The change that creates a load balancer."""

    tags: Sequence[str]
    body: Resource

    @override
    def send(self, updater: Updater) -> None:
        updater.octavia.create('loadbalancer', self.body)

    @override
    def is_done(self, updater: Updater) -> bool:
        return bool(_ranked(updater, self.tags))


@dataclass(frozen=True, slots=True)
class CreatePart(Change):
    """The change that creates a listener, a pool or a health monitor."""

    kind: Kind
    body: Resource
    tags: Sequence[str]
    parent: str

    @override
    def send(self, updater: Updater) -> None:
        updater.octavia.create(self.kind, self.body)

    @override
    def is_done(self, updater: Updater) -> bool:
        return _find_part(updater, self.kind, self.tags, self.parent) is not None


def ensure(updater: Updater, layout: Layout) -> LoadBalancer:
    """Find or create the load balancer and all its parts.

    :raises LoadBalancerGone: another worker deleted or replaced it.
    :raises Rejected: it failed; parts of it may be left, see `remove`.
    :raises ApiError: Octavia refused a change.
    """
    lb_id = _elect(updater, layout.tags) or _create(updater, layout)
    found_at = updater.settings.clock()
    with gone_if_replaced(updater, layout, lb_id):
        return _complete(updater, layout, lb_id, found_at)


def confirm(updater: Updater, layout: Layout, balancer: LoadBalancer) -> None:
    """Check that no other worker can replace the load balancer any more.

    :raises LoadBalancerGone: another worker replaced it.
    """
    updater.calls.wait_until(balancer.found_at + CREATION_TICK_S)
    if _elect(updater, layout.tags) != balancer.id:
        raise LoadBalancerGone(f'Another worker replaced load balancer {balancer.id}')


@contextmanager
def gone_if_replaced(updater: Updater, layout: Layout, lb_id: str) -> Iterator[None]:
    """Raise `LoadBalancerGone` for failures in the block if another worker caused them.

    :raises LoadBalancerGone: the load balancer was deleted, or another one is selected.
    """
    try:
        yield
    except LoadBalancerGone:
        raise
    except (ApiError, LoadBalancerFailed) as exc:
        if [one['id'] for one in _ranked(updater, layout.tags)[:1]] == [lb_id]:
            raise
        raise LoadBalancerGone(str(exc)) from exc


def remove(updater: Updater, tags: Sequence[str], known: Sequence[str] = ()) -> None:
    """Delete the load balancers with the tags, and those with known ids, with all their parts.

    :raises LoadBalancerFailed: one still exists; the others are deleted.
    :raises ApiError: Octavia does not list them.
    """
    found = [shown['id'] for shown in _tagged(updater, 'loadbalancer', tags)]
    failures = []
    for lb_id in dict.fromkeys([*known, *found]):
        try:
            updater.delete_load_balancer(lb_id)
        except LoadBalancerFailed as exc:
            failures.append(exc)
    for failure in failures:
        raise failure


def remove_failed(updater: Updater, tags: Sequence[str]) -> None:
    """Delete the load balancers that earlier attempts left in ERROR."""
    for shown in _ranked(updater, tags):
        if shown['provisioning_status'] == 'ERROR':
            updater.delete_load_balancer(shown['id'])


def _elect(updater: Updater, tags: Sequence[str]) -> str | None:
    """Select one load balancer with the tags and delete the others; None if there is none."""
    selected: str | None = None
    for shown in _ranked(updater, tags):
        if selected is None:
            selected = shown['id']
        else:
            updater.delete_load_balancer(shown['id'])
    return selected


def _create(updater: Updater, layout: Layout) -> str:
    """Create the load balancer, with all parts if the provider supports it; return the selected."""
    try:
        updater.create(CreateLoadBalancer(layout.tags, layout.nested()))
    except ApiError as exc:
        if not is_unsupported(exc):
            raise
        updater.create(CreateLoadBalancer(layout.tags, layout.marked(layout.load_balancer)))
    selected = _elect(updater, layout.tags)
    if selected is None:
        raise LoadBalancerGone(f'Load balancer {layout.name} was deleted during its creation')
    return selected


def _complete(updater: Updater, layout: Layout, lb_id: str, found_at: float) -> LoadBalancer:
    """Wait for the load balancer and create its missing parts."""
    shown = updater.wait_active(lb_id)
    monitor = None
    try:
        listener = _ensure_part(
            updater, layout, lb_id, 'listener', {**layout.listener, 'loadbalancer_id': lb_id}
        )
        pool = _ensure_part(
            updater, layout, lb_id, 'pool', {**layout.pool, 'listener_id': listener}
        )
        if layout.monitor:
            body = {**layout.monitor, 'pool_id': pool}
            monitor = _ensure_part(updater, layout, lb_id, 'healthmonitor', body, pool)
    except ApiError as exc:
        if exc.status != NOT_FOUND:
            raise
        raise LoadBalancerGone(f'Load balancer {lb_id} does not exist any more') from exc
    return LoadBalancer(lb_id, listener, pool, monitor, shown.get('vip_address'), found_at)


def _ensure_part(
    updater: Updater,
    layout: Layout,
    lb_id: str,
    kind: Kind,
    body: Mapping[str, Any],
    parent: str | None = None,
) -> str:
    """Find or create a part of the load balancer and return its id.

    :param parent: the id of the pool, for its health monitor.
    """
    parent = parent or lb_id
    part = _find_part(updater, kind, layout.tags, parent)
    if part is None:
        updater.update(lb_id, CreatePart(kind, layout.marked(body), layout.tags, parent))
        part = _find_part(updater, kind, layout.tags, parent)
    if part is None:
        raise LoadBalancerGone(f'The {kind} of load balancer {lb_id} was deleted')
    return part


def _tagged(updater: Updater, kind: Kind, tags: Sequence[str]) -> list[Resource]:
    """Return the objects that have all the tags."""
    found = updater.calls.read(updater.octavia.find, kind, tags=list(tags))
    return [shown for shown in found if set(tags) <= set(shown.get('tags') or ())]


def _ranked(updater: Updater, tags: Sequence[str]) -> list[Resource]:
    """Return the load balancers with the tags that are not being deleted, best first.

    Sort load balancers in ERROR last, then by age (oldest first), then by id.
    """
    alive = [
        shown
        for shown in _tagged(updater, 'loadbalancer', tags)
        if shown['provisioning_status'] not in ('PENDING_DELETE', 'DELETED')
    ]
    return sorted(alive, key=_rank)


def _rank(shown: Resource) -> tuple[bool, str, str]:
    in_error = shown['provisioning_status'] == 'ERROR'
    return in_error, shown.get('created_at') or '', shown['id']


def _find_part(updater: Updater, kind: Kind, tags: Sequence[str], parent: str) -> str | None:
    """Return the id of a tagged part of a load balancer, or None.

    :param parent: the id of the load balancer, or of the pool for a health monitor.
    """
    found = (one['id'] for one in _tagged(updater, kind, tags) if parent in _parents(one))
    return min(found, default=None)


def _parents(shown: Resource) -> set[str]:
    return {parent['id'] for kind in ('loadbalancers', 'pools') for parent in shown.get(kind) or ()}
