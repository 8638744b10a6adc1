"""The metrics of cordons."""

import datetime
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

LABELS = ('zone', 'region', 'evacuate')


class Cordon(Protocol):
    """A cordon of a zone, a region, or a zone of a region."""

    @property
    def zone(self) -> str | None:
        """The zone."""

    @property
    def region(self) -> str | None:
        """The region."""

    @property
    def until(self) -> datetime.datetime:
        """The end, with its time zone."""

    @property
    def evacuate(self) -> bool:
        """Whether the nodes of the place leave first."""


class Cordons(Protocol):
    """The cordons of the file."""

    @property
    def all(self) -> Sequence[Cordon]:
        """All of them, including those that have ended."""

    @property
    def is_valid(self) -> bool:
        """Whether the present file is valid."""


class CordonCollector(Collector):
    """Collector of the parent, which reads the cordon file at each scrape if it has changed.

    Files of processes could not drop the series of a cordon that was removed.
    """

    def __init__(self, cordons: Cordons, now: Callable[[], datetime.datetime]) -> None:
        """Set the source of the cordons.

        :param now: the time of day.
        """
        self._cordons, self._now = cordons, now

    @override
    def collect(self) -> Iterator[Metric]:
        cordons, now = self._cordons.all, self._now()
        yield GaugeMetricFamily(
            'placement_worker_active_cordons',
            'Cordons in force.',
            sum(one.until > now for one in cordons),
        )
        yield GaugeMetricFamily(
            'placement_worker_cordon_file_valid',
            'Whether the cordon file is valid.',
            self._cordons.is_valid,
        )
        ends = GaugeMetricFamily(
            'placement_worker_cordon_end_timestamp_seconds', 'End of a cordon.', labels=LABELS
        )
        for labels, until in _ends(cordons).items():
            ends.add_metric(labels, until)
        yield ends


def _ends(cordons: Sequence[Cordon]) -> dict[tuple[str, ...], float]:
    """Return the end of each cordon by its labels; a place may have several cordons."""
    found: dict[tuple[str, ...], float] = {}
    for one in cordons:
        labels = (one.zone or '', one.region or '', 'true' if one.evacuate else 'false')
        found[labels] = max(one.until.timestamp(), found.get(labels, 0))
    return found
