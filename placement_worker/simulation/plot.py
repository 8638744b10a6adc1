"""A run as a picture, drawn by matplotlib, which the extra `plot` installs."""

import importlib.util
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from placement_worker.errors import PlacementWorkerError
from placement_worker.simulation import charts
from placement_worker.simulation.history import History, Moment
from placement_worker.simulation.report import OTHER, OURS
from placement_worker.simulation.run import Record
from placement_worker.simulation.scenario import Scenario

FORMATS = ('.svg', '.png')
COLOURS = ('#2a78d6', '#eb6834', '#1baf7a', '#eda100', '#e87ba4', '#008300', '#4a3aa7', '#e34948')
SOFT = '#565b64'
STYLE: Any = {
    'font.size': 9, 'axes.spines.top': False, 'axes.spines.right': False, 'axes.edgecolor': '#9a9a94',
    'axes.titlelocation': 'left', 'axes.titlesize': 10.5, 'axes.titleweight': 'bold', 'axes.grid': True,
    'axes.grid.axis': 'y', 'axes.axisbelow': True, 'grid.color': '#e6e6e1', 'xtick.color': SOFT, 'ytick.color': SOFT,
    'svg.fonttype': 'none', 'svg.hashsalt': 'placement-worker',
}  # fmt: skip


class CannotPlot(PlacementWorkerError):
    """The picture cannot be drawn; the text says what to do."""


def check(path: str) -> None:
    """See, before a long run, that a picture can be drawn afterwards.

    :raises CannotPlot: matplotlib is missing, or the file's name ends in none of `FORMATS`.
    """
    if Path(path).suffix not in FORMATS:
        raise CannotPlot(
            f'{path}: a picture is SVG or PNG; let the name end in {" or ".join(FORMATS)}'
        )
    if importlib.util.find_spec('matplotlib') is None:
        raise CannotPlot(
            "matplotlib is missing; install it with: pip install 'placement-worker[plot]'"
        )


def draw(scenario: Scenario, history: History, path: str) -> None:
    """Write the picture: nodes by place, and how far off the ideal they are.

    :raises OSError: the file cannot be written.
    """
    import matplotlib as mpl  # noqa: PLC0415  # it takes longer to import than most runs take
    from matplotlib.figure import Figure  # noqa: PLC0415
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    moments = history.moments
    compared = moments[-1].other is not None
    sides: list[tuple[str, Callable[[Moment], Any]]] = [(OURS, attrgetter('ours'))]
    sides += [(OTHER, attrgetter('other'))] * compared
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 2.6 * (len(sides) + 1)), layout='constrained')
        axes = figure.subplots(len(sides) + 1, 1, sharex=True)
        top = 1.08 * max(record_of(moment).size for moment in moments for _, record_of in sides)
        figure.suptitle(scenario.title, x=0.02, ha='left', fontsize=13, fontweight='bold')
        for axis, (who, record_of) in zip(axes, sides, strict=False):
            _nodes(
                axis,
                f'Nodes by place{f": {who}" if compared else ""}',
                moments,
                history.places,
                record_of,
            )
            axis.set_ylim(0, top or 1)
        axes[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
        _misplaced(axes[-1], moments, sides)
        figure.savefig(path, dpi=160, metadata={'Date': None} if path.endswith('.svg') else None)


def _nodes(
    axis: Any,
    title: str,
    moments: Sequence[Moment],
    names: Sequence[str],
    record_of: Callable[[Moment], Record],
) -> None:
    x = [moment.ours.number for moment in moments]
    counts = [{one.name: one.nodes for one in record_of(moment).standings} for moment in moments]
    base = [0.0] * len(moments)
    for (name, members), colour in zip(charts.grouped(names).items(), COLOURS, strict=False):
        heights = [sum(count.get(member, 0) for member in members) for count in counts]
        tops = [low + height for low, height in zip(base, heights, strict=True)]
        if len(moments) <= charts.GAPS_UP_TO:
            axis.bar(x, heights, bottom=base, color=colour, label=name, linewidth=0)
        else:
            axis.fill_between(x, base, tops, step='mid', color=colour, label=name, linewidth=0)
        base = tops
    failed = [i for i, moment in enumerate(moments) if record_of(moment).status == 'ERROR']
    if failed:
        above = [base[i] + max(base) * 0.05 for i in failed]
        axis.plot(
            [x[i] for i in failed],
            above,
            'x',
            color='#b3261e',
            markersize=5,
            label='check in ERROR',
        )
    axis.set_title(title)
    axis.set_ylabel('nodes', color=SOFT)
    axis.legend(loc='upper left', bbox_to_anchor=(1, 1), frameon=False)


def _misplaced(
    axis: Any, moments: Sequence[Moment], sides: Sequence[tuple[str, Callable[[Moment], Any]]]
) -> None:
    x = [moment.ours.number for moment in moments]
    for (who, record_of), colour, dashes in zip(sides, COLOURS, ('-', '--'), strict=False):
        values = [record_of(moment).misplaced for moment in moments]
        axis.plot(x, values, dashes, drawstyle='steps-mid', color=colour, label=who, linewidth=1.6)
    axis.set_title('Nodes off their ideal')
    axis.set_ylabel('nodes', color=SOFT)
    axis.set_xlabel('step', color=SOFT)
    axis.set_ylim(bottom=0)
    axis.legend(loc='upper left', bbox_to_anchor=(1, 1), frameon=False)
