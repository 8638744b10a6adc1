"""The verdict on a run: how uneven the nodes became, and whether they were even again."""

from msgspec import Struct

from placement_worker.formats.text import noun_for
from placement_worker.simulation.run import Record

TOLERANCE = 1e-9


class Evenness(Struct):
    """How evenly the nodes were distributed after each step of a run, in constant memory.

    Nodes are even if no place is a whole node or more off its ideal.

    :ivar is_measured: whether a place had an ideal, which takes a placement policy.
    :ivar worst: the maximum of `measures.misplaced` over the uneven steps, in nodes.
    :ivar worst_step: the first step with that maximum; None if all steps were even.
    :ivar was_even: whether nodes were even before the worst step.
    :ivar even_again: the first even step after the worst one.
    :ivar uneven_later: the number of uneven steps after `even_again`.
    :ivar even_since: the step since which the nodes are even; None if they are uneven.
    """

    last: int = 0
    is_measured: bool = False
    worst: float = 0.0
    worst_step: int | None = None
    was_even: bool = False
    even_again: int | None = None
    uneven_later: int = 0
    even_since: int | None = None
    _ever_even: bool = False

    def add(self, record: Record) -> None:
        """Add the next step."""
        self.last = record.number
        self.is_measured |= any(one.ideal is not None for one in record.standings)
        if all(abs(one.deviation) < 1 - TOLERANCE for one in record.standings):
            self._add_even(record.number)
        else:
            self._add_uneven(record.number, record.misplaced)

    def _add_even(self, number: int) -> None:
        self._ever_even = True
        if self.even_since is None:
            self.even_since = number
        if self.worst_step is not None and self.even_again is None:
            self.even_again = number

    def _add_uneven(self, number: int, misplaced: float) -> None:
        self.even_since = None
        self.uneven_later += self.even_again is not None
        if misplaced > self.worst:
            self.worst, self.worst_step, self.was_even = misplaced, number, self._ever_even
            self.even_again, self.uneven_later = None, 0

    @property
    def verdict(self) -> str:
        """One sentence about the run, without a full stop."""
        if not self.is_measured:
            return 'No placement policy is bound, so no place has an ideal number of nodes'
        if self.worst_step is None:
            return 'Even after every step: no place was ever a whole node off its ideal'
        worst = round(self.worst, 1)
        nodes = f'{worst:,g} {noun_for(worst, "node")}'
        return f'Worst: {nodes} off {_at(self.worst_step)}{self._end}'

    @property
    def clause(self) -> str:
        """The verdict as it follows a colon, e.g. after the name of a rule."""
        return self.verdict[0].lower() + self.verdict[1:]

    @property
    def _end(self) -> str:
        again = ' again' if self.was_even else ''
        if self.worst_step == self.last:
            return ', the last one'
        if self.even_again is None:
            return f'; not even{again} before the end'
        end = f'; even{again} {_at(self.even_again)}'
        if not self.uneven_later:
            return end
        steps = f'{self.uneven_later:,} {noun_for(self.uneven_later, "later step")}'
        if self.even_since is None:
            return f'{end}, but uneven after {steps} and at the end'
        return f'{end}; uneven after {steps}, and even from step {self.even_since:,} on'


def _at(number: int) -> str:
    return f'at step {number:,}' if number else 'at the start'
