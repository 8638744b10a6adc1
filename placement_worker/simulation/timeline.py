"""The outages and the other changes of the cloud in a run, in bounded memory."""

from collections.abc import Iterable

from msgspec import Struct

from placement_worker.simulation.run import Record

MOST = 80  # flags or outages that a chart and its legend can show


class Outage(Struct):
    """The steps after which a zone or a region was unavailable, `last` included."""

    place: str
    first: int
    last: int


class Flag(Struct, frozen=True):
    """A step that changed the cloud or a policy."""

    number: int
    what: str


class Timeline:
    """The outages and the flags of a run.

    :ivar outages: the first ones, up to `MOST`.
    :ivar outage_count: the number of all outages.
    :ivar flags: the first ones, up to `MOST`.
    :ivar flag_count: the number of all flags.
    """

    def __init__(self) -> None:
        self.outages: list[Outage] = []
        self.outage_count = 0
        self.flags: list[Flag] = []
        self.flag_count = 0
        self._lasting: dict[str, Outage] = {}

    def add(self, record: Record) -> None:
        """Add the next step."""
        if record.changes_world:
            self.flag_count += 1
            if len(self.flags) < MOST:
                self.flags.append(Flag(record.number, record.what))
        self._end_except(record.outages)
        for place in record.outages:
            self._extend(place, record.number)

    def _end_except(self, places: Iterable[str]) -> None:
        self._lasting = {place: self._lasting[place] for place in places if place in self._lasting}

    def _extend(self, place: str, number: int) -> None:
        if place in self._lasting:
            self._lasting[place].last = number
            return
        self._lasting[place] = Outage(place, number, number)
        self.outage_count += 1
        if len(self.outages) < MOST:
            self.outages.append(self._lasting[place])
