"""The shares of regions in a plan by zone, and their forms in data and details of a decision."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from placement_worker.cloud.stated_places import Location
from placement_worker.contract.action_data import CREATION
from placement_worker.planning.interleaving import interleave_groups
from placement_worker.planning.places import NO_CAP
from placement_worker.planning.plan_rows import Plan, Row
from placement_worker.planning.sizing import Size
from placement_worker.planning.skew import Skew
from placement_worker.policies import shared_placement

NO_USABLE_ZONE = 'no usable zone'


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a size that one region takes.

    `region`: None if no policy planned by region. `held`: the number of nodes in the region before
    the action. `plan`: None if the region has no usable zone. `warnings`: sentences about zones.
    `skew`: None if the policy tolerates the skew of the plan. `alternatives`: the zones of the plan
    with the zones to try next.
    """

    region: str | None
    size: Size
    held: int
    plan: Plan | None
    warnings: Sequence[str] = ()
    skew: Skew | None = None
    alternatives: Mapping[str, Sequence[str]] = field(default_factory=dict)


def by_region(
    groups: Sequence[Counter[Location]],
) -> Mapping[str | None, list[Counter[str | None]]]:
    """Return region -> the nodes of each group by zone; a region without nodes is empty."""
    found: defaultdict[str | None, list[Counter[str | None]]]
    found = defaultdict(lambda: [Counter() for _ in groups])
    for number, group in enumerate(groups):
        for (region, zone), count in group.items():
            found[region][number][zone] = count
    return found


def places(shares: Sequence[Share]) -> list[dict[str, Any]]:
    """Return the counts by region and zone; a region without usable zones has no zone."""
    found: list[dict[str, Any]] = []
    for share in shares:
        if share.plan is None:
            found.append({'region_name': share.region, 'count': share.size.count})
        else:
            found += [
                {'region_name': share.region, 'zone': zone, 'count': count}
                for zone, count in share.plan.counts.items()
            ]
    return found


def counts(shares: Sequence[Share]) -> dict[str, int]:
    """Return zone -> number of nodes in all regions, by name, without zeros."""
    found: Counter[str] = Counter()
    for share in shares:
        for row in share.plan.rows if share.plan else ():
            found[row.name] += row.planned
    return {name: found[name] for name in sorted(found) if found[name]}


def details(shares: Sequence[Share]) -> dict[str, Any]:
    """Return the rows of all shares, and the number of unplaced nodes, for a decision.

    If zones are beyond the allowed skew, these follow with their numbers.
    """
    rows: list[dict[str, Any]] = []
    skewed: list[dict[str, Any]] = []
    unplaced = 0
    for share in shares:
        region = {} if share.region is None else {'region_name': share.region}
        rows += shared_placement.rows(_rows(share), **region)
        skewed += [{**region, **row} for row in share.skew.details] if share.skew else []
        unplaced += share.plan.unplaced if share.plan else 0
    return {'zones': rows, 'unplaced': unplaced, **({'skewed': skewed} if skewed else {})}


def skews(shares: Sequence[Share]) -> list[str]:
    """Return a sentence for each share whose plan is beyond the allowed skew."""
    return [share.skew.explained('zone', share.region) for share in shares if share.skew]


def warnings(shares: Sequence[Share]) -> list[str]:
    """Return the sentences about the zones of all shares."""
    return [text for share in shares for text in share.warnings]


def _rows(share: Share) -> Sequence[Row]:
    """Return the rows of a share; a region without a usable zone has one row."""
    if share.plan is not None:
        return share.plan.rows
    count = share.size.count
    final = share.held + (count if share.size.kind == CREATION else -count)
    return (Row('-', 0, NO_CAP, False, share.held, 0.0, count, final, NO_USABLE_ZONE),)


def entries(shares: Sequence[Share]) -> list[dict[str, str]]:
    """Return the place of each node to create, interleaved over regions and their zones."""
    counts: dict[str | None, dict[str | None, int]] = {
        share.region: {row.name: row.planned for row in share.plan.rows}
        if share.plan
        else {None: share.size.count}
        for share in shares
    }
    places = {
        (region, zone): _place(region, zone) for region, zones in counts.items() for zone in zones
    }
    return list(map(places.__getitem__, interleave_groups(counts)))


def alternatives(shares: Sequence[Share]) -> list[dict[str, Any]]:
    """Return the places of the plan with the places to try next, in the form of `entries`."""
    return [
        {
            'place': _place(share.region, zone),
            'retry': [_place(share.region, other) for other in others],
        }
        for share in shares
        for zone, others in share.alternatives.items()
    ]


def _place(region: str | None, zone: str | None) -> dict[str, str]:
    names = (('region_name', region), ('zone', zone))
    return {key: name for key, name in names if name is not None}
