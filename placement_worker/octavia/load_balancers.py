"""The load balancer that belongs to one policy of one cluster: found by its tags, made whole, or
removed.

Whoever works on it may die at any step, and two may work on it at once. So nothing is remembered
here: what carries the tags is looked for and adopted, what is missing is made, and of two load
balancers the older one (then the one with the lower id) wins, whoever made it.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from placement_worker.cloud import retry
from placement_worker.cloud.ports import ApiError, Kind, Resource
from placement_worker.errors import InvalidInput, LoadBalancerFailed, LoadBalancerGone
from placement_worker.octavia.updater import Driver

LOST_RACES = 5
"""How often a load balancer may vanish under our hands before we give up."""
TICK_S = 1.0
"""Octavia says to the second when a load balancer was created. One that is so much older wins for
good: whoever looked before it was there, and yet makes another one, cannot remove it after its
maker has told of it."""
T = TypeVar('T')


def tags_of(cluster_id: str, policy_id: str) -> list[str]:
    """What marks everything that a policy makes for a cluster."""
    return [f'placement-worker:cluster={cluster_id}', f'placement-worker:policy={policy_id}']


@dataclass(frozen=True, slots=True)
class Layout:
    """What is to be there: bodies of Octavia's API, without what links them and without tags and
    names.
    """

    name: str
    tags: Sequence[str]
    load_balancer: Mapping[str, Any]
    listener: Mapping[str, Any]
    pool: Mapping[str, Any]
    monitor: Mapping[str, Any] | None

    def marked(self, body: Mapping[str, Any]) -> Resource:
        """A body with name and tags."""
        return {**body, 'name': self.name, 'tags': list(self.tags)}

    def nested(self) -> Resource:
        """All of it in one body."""
        pool = self.marked(self.pool)
        if self.monitor is not None:
            pool['healthmonitor'] = self.marked(self.monitor)
        listener = {**self.marked(self.listener), 'default_pool': pool}
        return {**self.marked(self.load_balancer), 'listeners': [listener]}


@dataclass(frozen=True, slots=True)
class Balancer:
    """A complete load balancer."""

    load_balancer: str
    listener: str | None
    pool: str
    monitor: str | None
    vip_address: str | None


def ensure(driver: Driver, layout: Layout, fill: Callable[[Balancer], T]) -> tuple[Balancer, T]:
    """Find or make the load balancer and all its parts, and fill it.

    :param fill: adds the members; asked again if the load balancer turns out to be one that loses.
    :raises Rejected: it cannot be done; what there is of it stays, see `remove`.
    :raises ApiError: Octavia refuses.
    """
    lost: Exception | None = None
    _clear(driver, layout.tags)
    for _ in range(LOST_RACES):
        lb_id = None
        try:
            lb_id = _elect(driver, layout.tags) or _made(driver, layout)
            there_since = driver.settings.clock()
            balancer = _completed(driver, layout, lb_id)
            filled = fill(balancer)
            driver.pause_until(there_since + TICK_S)
            if _elect(driver, layout.tags) == lb_id:
                return balancer, filled
        except LoadBalancerGone as exc:
            lost = exc
        except (ApiError, LoadBalancerFailed) as exc:
            if not _is_beaten(driver, layout.tags, lb_id):
                raise
            lost = exc
    raise LoadBalancerFailed(
        f'Others keep removing the load balancer {layout.name}: {lost}'
    ) from lost


def named(driver: Driver, name_or_id: str) -> Resource | None:
    """The load balancer of this id or name; None if there is none.

    :raises InvalidInput: several have this name.
    """
    found = shown(driver, 'loadbalancer', name_or_id)
    if found is not None:
        return found
    same = driver.read(lambda: driver.octavia.find('loadbalancer', name=name_or_id))
    if len(same) > 1:
        raise InvalidInput(
            f'{len(same)} load balancers have the name {name_or_id}: name one by its id.'
        )
    return same[0] if same else None


def shown(driver: Driver, kind: Kind, object_id: str) -> Resource | None:
    """The object of this id; None if there is none."""
    try:
        return driver.read(lambda: driver.octavia.show(kind, object_id))
    except ApiError as exc:
        if exc.status != 404:
            raise
        return None


def remove(driver: Driver, tags: Sequence[str], known: Sequence[str] = ()) -> None:
    """Delete the load balancers that carry the tags, and those that are known by id, with all that
    they have.

    :raises LoadBalancerFailed: one stays.
    :raises ApiError: Octavia does not say which there are.
    """
    found = [shown['id'] for shown in _tagged(driver, 'loadbalancer', tags)]
    failures = []
    for lb_id in dict.fromkeys([*known, *found]):
        try:
            driver.delete_load_balancer(lb_id)
        except LoadBalancerFailed as exc:
            failures.append(exc)
    for failure in failures:
        raise failure


def _ranked(driver: Driver, tags: Sequence[str]) -> list[Resource]:
    """The load balancers with the tags that are not being deleted: the one that wins first."""
    found = _tagged(driver, 'loadbalancer', tags)
    alive = [
        shown
        for shown in found
        if shown['provisioning_status'] not in ('PENDING_DELETE', 'DELETED')
    ]
    return sorted(
        alive,
        key=lambda shown: (
            shown['provisioning_status'] == 'ERROR',
            shown.get('created_at') or '',
            shown['id'],
        ),
    )


def _elect(driver: Driver, tags: Sequence[str]) -> str | None:
    """Of several load balancers with the tags keep the one that wins, and remove the others; None
    if there is none.
    """
    winner: str | None = None
    for shown in _ranked(driver, tags):
        if winner is None:
            winner = shown['id']
        else:
            driver.delete_load_balancer(shown['id'])
    return winner


def _clear(driver: Driver, tags: Sequence[str]) -> None:
    """Remove what earlier attempts have left in ERROR."""
    for shown in _ranked(driver, tags):
        if shown['provisioning_status'] == 'ERROR':
            driver.delete_load_balancer(shown['id'])


def _is_beaten(driver: Driver, tags: Sequence[str], lb_id: str | None) -> bool:
    """Whether the load balancer has vanished, or another one wins."""
    return lb_id is not None and lb_id not in [one['id'] for one in _ranked(driver, tags)[:1]]


def _made(driver: Driver, layout: Layout) -> str:
    """Make the load balancer, with all its parts if the provider can; the id of the one that
    wins.
    """

    def make(body: Resource) -> None:
        driver.make(
            lambda: driver.octavia.create('loadbalancer', body),
            lambda: bool(_ranked(driver, layout.tags)),
        )

    try:
        make(layout.nested())
    except ApiError as exc:
        if not retry.is_unsupported(exc):
            raise
        make(layout.marked(layout.load_balancer))
    winner = _elect(driver, layout.tags)
    if winner is None:
        raise LoadBalancerGone(f'The load balancer {layout.name} vanished while it was made')
    return winner


def _completed(driver: Driver, layout: Layout, lb_id: str) -> Balancer:
    """Wait for the load balancer, and make what it lacks."""
    shown = driver.wait_active(lb_id)
    part = functools.partial(_part, driver, layout, lb_id)
    try:
        listener = part('listener', {**layout.listener, 'loadbalancer_id': lb_id}, lb_id)
        pool = part('pool', {**layout.pool, 'listener_id': listener}, lb_id)
        monitor = (
            part('healthmonitor', {**layout.monitor, 'pool_id': pool}, pool)
            if layout.monitor
            else None
        )
    except ApiError as exc:
        if exc.status != 404:
            raise
        raise LoadBalancerGone(f'Load balancer {lb_id} does not exist any more') from exc
    return Balancer(lb_id, listener, pool, monitor, shown.get('vip_address'))


def _part(
    driver: Driver, layout: Layout, lb_id: str, kind: Kind, body: Mapping[str, Any], parent: str
) -> str:
    """The id of a part of the load balancer; made if it is not there.

    :param parent: the id of the load balancer, for a health monitor of the pool.
    """

    def found() -> str | None:
        shown = (one for one in _tagged(driver, kind, layout.tags) if parent in _parents(one))
        return min((one['id'] for one in shown), default=None)

    part = found()
    if part is None:
        driver.write(
            lb_id,
            lambda: driver.octavia.create(kind, layout.marked(body)),
            lambda: found() is not None,
        )
        part = found()
    if part is None:
        raise LoadBalancerGone(f'The {kind} of load balancer {lb_id} has vanished')
    return part


def _parents(shown: Resource) -> set[str]:
    return {parent['id'] for kind in ('loadbalancers', 'pools') for parent in shown.get(kind) or ()}


def _tagged(driver: Driver, kind: Kind, tags: Sequence[str]) -> list[Resource]:
    """All objects with all the tags."""
    found = driver.read(lambda: driver.octavia.find(kind, tags=list(tags)))
    return [shown for shown in found if set(tags) <= set(shown.get('tags') or ())]
