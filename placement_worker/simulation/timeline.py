"""The outages, the cordons and the other changes of the cloud in a run, in bounded memory."""

from msgspec import Struct

from placement_worker.simulation.run import Record

MOST = 80  # flags or outages that a chart and its legend can show


class Outage(Struct):
    """The steps after which a zone or a region was unavailable, `last` included.

    `is_cordon`: whether a cordon was the cause.
    """

    place: str
    first: int
    last: int
    is_cordon: bool = False


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
        self._lasting: dict[tuple[str, bool], Outage] = {}

    def add(self, record: Record) -> None:
        """Add the next step."""
        if record.changes_world:
            self.flag_count += 1
            if len(self.flags) < MOST:
                self.flags.append(Flag(record.number, record.what))
        places = [
            *((one, False) for one in record.outages),
            *((one, True) for one in record.cordons),
        ]
        self._lasting = {one: self._lasting[one] for one in places if one in self._lasting}
        for place, is_cordon in places:
            self._extend(place, is_cordon, record.number)

    def _extend(self, place: str, is_cordon: bool, number: int) -> None:
        if (place, is_cordon) in self._lasting:
            self._lasting[place, is_cordon].last = number
            return
        outage = self._lasting[place, is_cordon] = Outage(place, number, number, is_cordon)
        self.outage_count += 1
        if len(self.outages) < MOST:
            self.outages.append(outage)
