"""Look up load balancers and their parts by id or name."""

from placement_worker.cloud.ports import ApiError, Kind, Resource
from placement_worker.errors import InvalidInput
from placement_worker.octavia.api_errors import NOT_FOUND
from placement_worker.octavia.updater import Updater


def load_balancer(updater: Updater, name_or_id: str) -> Resource | None:
    """Return the load balancer with this id or name, or None.

    :raises InvalidInput: several load balancers have this name.
    """
    found = show(updater, 'loadbalancer', name_or_id)
    if found is not None:
        return found
    same = updater.calls.read(updater.octavia.find, 'loadbalancer', name=name_or_id)
    if len(same) > 1:
        raise InvalidInput(
            f'{len(same)} load balancers have the name {name_or_id}: name one by its id.'
        )
    return same[0] if same else None


def show(updater: Updater, kind: Kind, object_id: str) -> Resource | None:
    """Return the object with this id, or None."""
    try:
        return updater.calls.read(updater.octavia.show, kind, object_id)
    except ApiError as exc:
        if exc.status != NOT_FOUND:
            raise
        return None
