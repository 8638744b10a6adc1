"""The effect of cordons on the places of a policy."""

from collections.abc import Sequence

from placement_worker.formats.text import counted
from placement_worker.planning import cordon
from placement_worker.planning.cordon import Cordon
from placement_worker.planning.places import Located, Place
from placement_worker.policies.base import State


def of_zone(zone: str, region: str | None, state: State) -> Cordon | None:
    """Return the cordon of a zone; `region` None stands for the home region."""
    return cordon.covering(state.cordons, _named(region, state), zone)


def of_region(region: str, state: State) -> Cordon | None:
    """Return the cordon of a whole region."""
    return cordon.covering(state.cordons, region, None)


def close_zones(zones: Sequence[Place], region: str | None, state: State) -> list[Place]:
    """Return the zones of a region, closed where they are cordoned."""
    return [_closed(zone, of_zone(zone.name, region, state)) for zone in zones]


def close_regions(regions: Sequence[Place], state: State) -> list[Place]:
    """Return the regions, closed where they are cordoned."""
    return [_closed(region, of_region(region.name, state)) for region in regions]


def check_cordons(places: Sequence[Place], reason: str) -> None:
    """Check that unusable places are not unusable because of cordons.

    :param places: places of which none can take a node.
    :param reason: the error without its cause.
    :raises NoUsablePlace: some are cordoned; the text names the cordons.
    """
    cordons = [one for place in places for one in place.cordons]
    if cordons:
        raise cordon.no_open_place(reason, cordons)


def warn_of_named(what: str, found: Cordon | None) -> list[str]:
    """Return a sentence if the profile of a new node names a cordoned place, else none.

    :param what: the place that the profile names.
    """
    if found is None:
        return []
    return [f'The profile asks for {what}, and {found}; the node is created there all the same']


def not_emptied(places: Sequence[Place], staying: Located, kind: str) -> list[str]:
    """Return a sentence for each place that protected nodes keep from being evacuated.

    :param staying: place -> number of protected nodes there.
    :param kind: `zone` or `region`.
    """
    return [
        f'Cannot evacuate {kind} {place.name}: {counted(staying[place.name], "protected node")} '
        f'must not be deleted there'
        for place in places
        if place.is_evacuated and staying.get(place.name)
    ]


def _named(region: str | None, state: State) -> str | None:
    """Return the name of a region; the home region is looked up only if a cordon needs it."""
    if region is None and any(one.region for one in state.cordons):
        return state.cloud.home_region
    return region


def _closed(place: Place, found: Cordon | None) -> Place:
    return place.closed([found], found.note) if found and place.known else place
