"""Look up load balancers and their parts."""

from collections.abc import Sequence

from placement_worker.cloud.ports import ApiError, Kind, Resource
from placement_worker.errors import InvalidInput
from placement_worker.octavia.causes import NOT_FOUND
from placement_worker.octavia.updater import Updater


def load_balancer(updater: Updater, name_or_id: str) -> Resource | None:
    """Return the load balancer with this id or name, or None.

    :raises InvalidInput: several load balancers have this name.
    """
    found = show(updater, 'loadbalancer', name_or_id)
    if found is not None:
        return found
    same = updater.read(updater.octavia.find, 'loadbalancer', name=name_or_id)
    if len(same) > 1:
        raise InvalidInput(
            f'{len(same)} load balancers have the name {name_or_id}: name one by its id.'
        )
    return same[0] if same else None


def show(updater: Updater, kind: Kind, object_id: str) -> Resource | None:
    """Return the object with this id, or None."""
    try:
        return updater.read(updater.octavia.show, kind, object_id)
    except ApiError as exc:
        if exc.status != NOT_FOUND:
            raise
        return None


def tagged(updater: Updater, kind: Kind, tags: Sequence[str]) -> list[Resource]:
    """Return the objects that have all the tags."""
    found = updater.read(updater.octavia.find, kind, tags=list(tags))
    return [shown for shown in found if set(tags) <= set(shown.get('tags') or ())]


def ranked(updater: Updater, tags: Sequence[str]) -> list[Resource]:
    """Return the load balancers with the tags that are not being deleted, best first.

    Sort load balancers in ERROR last, then by age (oldest first), then by id.
    """
    alive = [
        shown
        for shown in tagged(updater, 'loadbalancer', tags)
        if shown['provisioning_status'] not in ('PENDING_DELETE', 'DELETED')
    ]
    return sorted(alive, key=_rank)


def _rank(shown: Resource) -> tuple[bool, str, str]:
    in_error = shown['provisioning_status'] == 'ERROR'
    return in_error, shown.get('created_at') or '', shown['id']


def part(updater: Updater, kind: Kind, tags: Sequence[str], parent: str) -> str | None:
    """Return the id of a tagged part of a load balancer, or None.

    :param parent: the id of the load balancer, or of the pool for a health monitor.
    """
    found = (one['id'] for one in tagged(updater, kind, tags) if parent in _parents(one))
    return min(found, default=None)


def _parents(shown: Resource) -> set[str]:
    return {parent['id'] for kind in ('loadbalancers', 'pools') for parent in shown.get(kind) or ()}
