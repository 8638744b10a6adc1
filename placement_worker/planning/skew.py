"""The skew of a plan: how far it leaves each place from its ideal, and why.

The ideal here is the share of a place, by weight, of the nodes in all listed places after the plan,
whether or not nodes can be created there. The rows of a plan divide the nodes among usable places
only, and so hide that a place is lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from placement_worker.contract.action_data import CREATION, Kind
from placement_worker.formats.text import counted, enumerated, escaped, shortened
from placement_worker.planning.places import NOWHERE, Located, Place
from placement_worker.planning.plan_rows import Plan, Row


class Bound(NamedTuple):
    """A limit that keeps places from their ideal, as the text around their names."""

    before: str
    after_one: str
    after_many: str

    def of(self, names: Sequence[str], what: str) -> str:
        """Return the limit of places in words, e.g. "zones az2 and az3 are unavailable".

        :param what: the type of the places, e.g. "zone".
        """
        noun, after = (what, self.after_one) if len(names) == 1 else (f'{what}s', self.after_many)
        return f'{self.before}{noun} {enumerated(names)}{after}'


AT_CAP = Bound('', ' is at its cap', ' are at their caps')
OVER_CAP = Bound('', ' is over its cap', ' are over their caps')
EXISTING = Bound('existing nodes of ', ' are not moved', ' are not moved')
PROTECTED = Bound('protected nodes of ', ' stay', ' stay')
NO_GROWTH = Bound('a deletion adds no nodes to ', '', '')
UNHEALTHY_FIRST = 'unhealthy nodes and nodes that were never created leave first'
BEST_FOR_WEIGHTS = 'the weights allow no better plan'


@dataclass(frozen=True, slots=True)
class Standing:
    """A listed place after a plan, with its ideal."""

    place: Place
    row: Row
    ideal: Fraction

    @property
    def distance(self) -> Fraction:
        """The number of nodes above the ideal; negative below it."""
        return self.row.final - self.ideal


@dataclass(frozen=True, slots=True)
class Skew:
    """The places of a plan that are more than `allowed` nodes from their ideal.

    :ivar standings: all listed places, in the order of the spec.
    :ivar first: the number of nodes that a deletion removes before healthy ones.
    :ivar staying: the protected nodes by place.
    """

    kind: Kind
    allowed: int
    standings: Sequence[Standing]
    first: int
    staying: Located

    @property
    def beyond(self) -> list[Standing]:
        """The places that are too far from their ideal."""
        return [one for one in self.standings if abs(one.distance) > self.allowed]

    @property
    def details(self) -> list[dict[str, Any]]:
        """The rows of these places, for the details of a decision."""
        return [
            {
                'name': one.place.name,
                'final': one.row.final,
                'ideal': _rounded(one.ideal),
                'skew': _rounded(one.distance),
                'allowed': self.allowed,
            }
            for one in self.beyond
        ]

    def explained(self, what: str, region: str | None = None) -> str:
        """Return a sentence about the place that is worst off, with the causes.

        That is the place with the most nodes above its ideal, since it suffers most if it is lost
        too. If no place is too far above, it is the place with the most nodes missing.

        :param what: the type of the places, e.g. "zone".
        :param region: the region of the zones, if a policy planned by region.
        """
        worst = max(self.beyond, key=lambda one: (one.distance > 0, abs(one.distance)))
        of_region = f' of region {_shown(region)}' if region else ''
        return (
            f'{what.capitalize()} {_shown(worst.place.name)}{of_region} would hold '
            f'{counted(worst.row.final, "node")}, ideal {_rounded(worst.ideal)}, '
            f'allowed skew {self.allowed}: {"; ".join(self._causes(worst, what))}'
        )

    def _causes(self, worst: Standing, what: str) -> list[str]:
        """Return the limits of the places beyond the allowed skew.

        If nothing limits the worst place itself, the places on the other side of their ideal
        count, too: it has the nodes that they cannot take, or lacks those that they keep.
        """
        places = self.beyond
        if self._bound(worst) is None:
            places = [
                one for one in self.standings if one in places or one.distance * worst.distance < 0
            ]
        names: dict[Bound, list[str]] = {}
        for one in places:
            bound = self._bound(one)
            if bound:
                names.setdefault(bound, []).append(_shown(one.place.name))
        return [bound.of(found, what) for bound, found in names.items()] or [self._general_cause()]

    def _general_cause(self) -> str:
        return UNHEALTHY_FIRST if self.first else BEST_FOR_WEIGHTS

    def _bound(self, one: Standing) -> Bound | None:
        if one.distance < 0:
            return _upper_bound(one.place, one.row, self.kind)
        if self.kind == CREATION:
            return None if one.row.planned else EXISTING
        return PROTECTED if one.row.final == self.staying.get(one.place.name) else None


def of_plan(
    kind: Kind,
    allowed: int,
    places: Sequence[Place],
    plan: Plan,
    groups: Sequence[Located],
    staying: Located = NOWHERE,
) -> Skew:
    """Measure a plan.

    :param allowed: the maximum distance of a place from its ideal.
    :param places: the listed places, each of which has a row in the plan.
    :param groups: as in `plan_for`: of a deletion, the last group has the healthy nodes.
    :param staying: the protected nodes by place.
    """
    rows = {row.name: row for row in plan.rows}
    size = sum(rows[place.name].final for place in places)
    weight = sum(place.weight for place in places)
    standings = [
        Standing(place, rows[place.name], Fraction(size * place.weight, weight)) for place in places
    ]
    first = sum(sum(group.values()) for group in groups[:-1])
    return Skew(kind, allowed, standings, first, staying)


def _upper_bound(place: Place, row: Row, kind: Kind) -> Bound | None:
    is_full = 0 <= place.cap <= row.final
    if kind == CREATION or not place.known:
        obstacle = '' if is_full and place.cordons and not place.note else place.obstacle
    else:
        obstacle = place.cordon_note if place.evacuated else ''
    if obstacle:
        return _obstacle(obstacle)
    if is_full:
        return AT_CAP if place.cap == row.final else OVER_CAP
    return None if kind == CREATION or row.planned else NO_GROWTH


def _obstacle(note: str) -> Bound:
    if note.startswith('no '):
        return Bound('', f' has {note}', f' have {note}')
    return Bound('', f' is {note}', f' are {note}')


def _rounded(number: Fraction) -> float:
    return round(float(number), 2)


def _shown(name: str) -> str:
    return escaped(shortened(name))
