"""The skew of a plan: how far it leaves each place from its ideal, and why.

The ideal here is the share of a place, by weight, of the nodes in all listed places after the plan,
whether or not nodes can be created there. The rows of a plan divide the nodes among usable places
only, and so hide that a place is lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from placement_worker.contract.action_data import CREATION, ChangeKind
from placement_worker.formats.text import counted, enumerated, escaped, shortened
from placement_worker.planning.placement import Distribution, Row
from placement_worker.planning.places import Held, NodeCounts, Place


class _Bound(NamedTuple):
    before: str
    after_one: str
    after_many: str

    def in_words(self, names: Sequence[str], level: str) -> str:
        noun, after = (level, self.after_one) if len(names) == 1 else (f'{level}s', self.after_many)
        return f'{self.before}{noun} {enumerated(names)}{after}'


_AT_CAP = _Bound('', ' is at its cap', ' are at their caps')
_OVER_CAP = _Bound('', ' is over its cap', ' are over their caps')
_EXISTING = _Bound('existing nodes of ', ' are not moved', ' are not moved')
_PROTECTED = _Bound('protected nodes of ', ' stay', ' stay')
_NO_GROWTH = _Bound('a deletion adds no nodes to ', '', '')
_UNHEALTHY_FIRST = 'unhealthy nodes and nodes that were never created leave first'
_BEST_FOR_WEIGHTS = 'the weights allow no better plan'


class _Standing(NamedTuple):
    """A listed place after a plan; `size`, `weights` are those of all listed places."""

    place: Place
    row: Row
    size: int
    weights: int

    @property
    def ideal(self) -> float:
        return self.size * self.place.weight / self.weights

    @property
    def excess(self) -> int:
        """The nodes above the ideal, in units of 1/`weights`; negative below it."""
        return self.row.final * self.weights - self.size * self.place.weight

    @property
    def distance(self) -> float:
        return self.excess / self.weights


@dataclass(frozen=True, slots=True)
class Skew:
    """The listed places after a plan; `beyond` are more than `allowed` nodes from their ideal.

    :ivar first: the number of nodes that a deletion removes before healthy ones.
    :ivar staying: the protected nodes by place.
    """

    kind: ChangeKind
    allowed: int
    standings: Sequence[_Standing]
    beyond: Sequence[_Standing]
    first: int
    staying: NodeCounts

    @property
    def details(self) -> list[dict[str, Any]]:
        return [
            {
                'name': standing.place.name,
                'final': standing.row.final,
                'ideal': round(standing.ideal, 2),
                'skew': round(standing.distance, 2),
                'allowed': self.allowed,
            }
            for standing in self.beyond
        ]

    def explained(self, level: str, region: str | None = None) -> str:
        """Return a sentence about the worst place, with the causes.

        That is the place with the most nodes above its ideal, since it suffers most if it is lost
        too. If no place is too far above, it is the place with the most nodes missing.
        """
        worst = max(self.beyond, key=lambda standing: (standing.excess > 0, abs(standing.excess)))
        of_region = f' of region {_shown(region)}' if region else ''
        return (
            f'{level.capitalize()} {_shown(worst.place.name)}{of_region} would hold '
            f'{counted(worst.row.final, "node")}, ideal {round(worst.ideal, 2)}, '
            f'allowed skew {self.allowed}: {"; ".join(self._causes(worst, level))}'
        )

    def _causes(self, worst: _Standing, level: str) -> list[str]:
        # If nothing limits the worst place, those on the other side of their ideal have its nodes.
        places = self.beyond
        if self._bound(worst) is None:
            places = [
                standing
                for standing in self.standings
                if standing in places or standing.excess * worst.excess < 0
            ]
        names: dict[_Bound, list[str]] = {}
        for standing in places:
            bound = self._bound(standing)
            if bound:
                names.setdefault(bound, []).append(_shown(standing.place.name))
        causes = [bound.in_words(limited, level) for bound, limited in names.items()]
        return causes or [_UNHEALTHY_FIRST if self.first else _BEST_FOR_WEIGHTS]

    def _bound(self, standing: _Standing) -> _Bound | None:
        if standing.excess < 0:
            return _upper_bound(standing.place, standing.row, self.kind)
        if self.kind == CREATION:
            return None if standing.row.planned else _EXISTING
        return _PROTECTED if standing.row.final == self.staying.get(standing.place.name) else None


def excessive_skew(
    kind: ChangeKind,
    allowed: int,
    places: Sequence[Place],
    plan: Distribution,
    held: Held[str | None],
) -> Skew | None:
    rows = {row.name: row for row in plan.rows}
    size = sum(rows[place.name].final for place in places)
    weights = sum(place.weight for place in places)
    standings = [_Standing(place, rows[place.name], size, weights) for place in places]
    beyond = [standing for standing in standings if abs(standing.excess) > allowed * weights]
    if not beyond:
        return None
    first = sum(sum(group.values()) for group in held.groups[:-1])
    return Skew(kind, allowed, standings, beyond, first, held.staying)


def _upper_bound(place: Place, row: Row, kind: ChangeKind) -> _Bound | None:
    is_full = 0 <= place.cap <= row.final
    if kind == CREATION or not place.known:
        obstacle = '' if is_full and place.cordons and not place.note else place.obstacle
    else:
        obstacle = place.cordon_note if place.evacuated else ''
    if obstacle:
        verb, plural_verb = (' has', ' have') if obstacle.startswith('no ') else (' is', ' are')
        return _Bound('', f'{verb} {obstacle}', f'{plural_verb} {obstacle}')
    if is_full:
        return _AT_CAP if place.cap == row.final else _OVER_CAP
    return None if kind == CREATION or row.planned else _NO_GROWTH


def _shown(name: str) -> str:
    return escaped(shortened(name))
