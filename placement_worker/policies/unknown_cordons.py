"""Cordons of places that the cloud does not know: they are probably misspelled, and close none."""

import difflib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from placement_worker.formats.text import listed, shortened
from placement_worker.planning.cordon import Cordon
from placement_worker.policies import place_names
from placement_worker.policies.base import Policy, State
from placement_worker.policies.shared_placement import PlacementPolicy

REMEDY = 'correct the cordon file'


class UnknownCordon(NamedTuple):
    """A cordon of an unknown place, a sentence about it, and the names that are probably meant.

    `names`: the name of the cordon, and the similar ones of the cloud.
    """

    cordon: Cordon
    text: str
    names: frozenset[str]

    def concerns(self, policy: Policy[Any]) -> bool:
        """Return whether a placement policy lists one of the names."""
        what = 'zone' if self.cordon.zone else 'region'
        if not isinstance(policy, PlacementPolicy) or policy.what != what:
            return False
        return any(place.name in self.names for place in policy.listed)


def found(state: State) -> Iterator[UnknownCordon]:
    """Yield the cordons of places that are in no response of the cloud to this check.

    Nothing is requested from the cloud: a place in a region that no policy asked for counts as
    known.
    """
    regions, zones = state.cloud.requested_regions, state.cloud.requested_zones
    for cordon in state.cordons:
        if cordon.region and regions is not None and cordon.region not in regions:
            yield _of_region(cordon, cordon.region, regions)
        elif cordon.zone:
            yield from _of_zone(cordon, cordon.zone, zones)


def _of_region(cordon: Cordon, name: str, known: Collection[str]) -> UnknownCordon:
    text = f'The cordon of {cordon.place} has no effect: the cloud has no region {shortened(name)}'
    return _unknown(cordon, name, text, known, REMEDY)


def _of_zone(
    cordon: Cordon, name: str, zones: Mapping[str | None, Mapping[str, bool]]
) -> Iterator[UnknownCordon]:
    asked = [region for region in zones if cordon.region in (None, region)]
    if not asked or any(name in zones[region] for region in asked):
        return
    where = listed(sorted(f'region {region}' if region else 'the home region' for region in asked))
    text = f'The cordon of {cordon.place} has no effect in {where}: there is no such zone'
    other = '' if cordon.region else ', or name its region if another region has the zone'
    yield _unknown(cordon, name, text, set().union(*(zones[one] for one in asked)), REMEDY + other)


def _unknown(
    cordon: Cordon, name: str, text: str, known: Collection[str], remedy: str
) -> UnknownCordon:
    hint, names = place_names.hint(name, known), difflib.get_close_matches(name, known, n=1)
    has = f'there are {listed(sorted(known), shortened)}' if known else 'there are none'
    return UnknownCordon(cordon, f'{text}{hint}; {has}; {remedy}', frozenset((name, *names)))
