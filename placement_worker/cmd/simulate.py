"""placement-policy simulate."""

import argparse
import errno
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec

from placement_worker.cmd import output
from placement_worker.cmd.base import OK, LocalCommand
from placement_worker.cmd.colors import Paint
from placement_worker.formats.escaping import escaped
from placement_worker.policies.registry import Registry

if TYPE_CHECKING:  # a simulation is no reason for the other commands to wait
    from placement_worker.simulation.history import History, Moment
    from placement_worker.simulation.run import Record
    from placement_worker.simulation.scenario import Scenario

UNEXPECTED = 1
SHOWN_UP_TO = 100  # steps, unless --every says otherwise
EXPLAINED = 1000


class Simulate(LocalCommand):
    """Play a scenario on the embedded cloud: tables, pictures, a report.

    :cvar patience_s: how long somebody at a terminal waits before a progress bar appears.
    """

    patience_s: ClassVar[float] = 1

    examples = (
        'placement-policy simulate zone-outage    # one of the shipped ones',
        'placement-policy simulate zone-outage --compare greedy --report report.html --plot plot.svg',
        'placement-policy simulate scenario.yaml --every 1000',
        'placement-policy simulate scenario.yaml -f jsonl    # a line of JSON a step',
    )
    epilog = (
        'Exit status: 0 every step ended as the scenario expects, 1 some step did not, 2 the scenario or the '
        'arguments are wrong.'
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Of this command."""
        parser.add_argument(
            'scenario', metavar='SCENARIO', help='YAML or JSON, or the name of a shipped scenario'
        )
        parser.add_argument(
            '-f', '--format', choices=('table', 'jsonl'), default='table', help='default: table'
        )
        parser.add_argument(
            '--every',
            metavar='N',
            type=_positive,
            help=f'show each Nth step; default: 1 up to {SHOWN_UP_TO} steps, else the last one only',
        )
        parser.add_argument(
            '--compare', choices=('greedy',), help="draw Senlin's greedy rule beside ours"
        )
        parser.add_argument(
            '--plot', metavar='FILE', help='write the charts as a picture, .svg or .png'
        )
        parser.add_argument(
            '--report',
            metavar='FILE',
            help='write an HTML page: charts, and every decision explained',
        )
        parser.add_argument(
            '--explained',
            metavar='N',
            type=_natural,
            default=EXPLAINED,
            help=f'how many steps the report explains; default: {EXPLAINED}',
        )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Play it, show it, and write what is asked for."""
        from placement_worker.simulation import scenario as scenarios  # noqa: PLC0415
        from placement_worker.simulation.history import History  # noqa: PLC0415

        args = parsed_args
        for path in filter(None, (args.plot, args.report)):
            _check_folder(path)
        if args.plot:
            from placement_worker.simulation import plot  # noqa: PLC0415

            plot.check(args.plot)
        scenario = scenarios.load(args.scenario)
        history = History(args.explained if args.report else 0)
        for moment in self._moments(scenario, args):
            history.add(moment)
            if self._is_shown(moment.ours.number, scenario.length, args.every):
                self._show(moment, args.format)
        if args.format == 'table':
            self.say('\n'.join(_summary(history, Paint.of(self.app.stdout))))
        self._write(scenario, history, args)
        return UNEXPECTED if history.ours.unexpected else OK

    def _moments(self, scenario: 'Scenario', args: argparse.Namespace) -> Iterator['Moment']:
        """Both clusters step by step; a progress bar for who waits at a terminal that nothing else
        is printed on.
        """
        from tqdm import tqdm  # noqa: PLC0415

        from placement_worker.simulation import greedy  # noqa: PLC0415
        from placement_worker.simulation.history import Moment  # noqa: PLC0415
        from placement_worker.simulation.run import play  # noqa: PLC0415

        installed, explained = Registry.installed(), args.explained if args.report else 0
        ours = play(scenario, installed, explained)
        printing = self.app.stdout.isatty() and self._is_shown(1, scenario.length, args.every)
        quiet = printing or not self.app.stderr.isatty()
        bar = tqdm(ours, total=scenario.length + 1, unit=' steps', delay=self.patience_s, leave=False, disable=quiet,
                   file=self.app.stderr)  # fmt: skip
        if not args.compare:
            yield from map(Moment, bar)
            return
        yield from map(Moment, bar, play(scenario, greedy.registry(installed), explained))

    def _is_shown(self, number: int, length: int, every: int | None) -> bool:
        if every is None:
            every = 1 if length <= SHOWN_UP_TO else length
        return number == length or (number > 0 and number % every == 0)

    def _show(self, moment: 'Moment', form: str) -> None:
        if form == 'jsonl':
            self.say(escaped(msgspec.json.encode(moment).decode()))
        else:
            self.say('\n'.join(_step(moment, Paint.of(self.app.stdout))))

    def _write(self, scenario: 'Scenario', history: 'History', args: argparse.Namespace) -> None:
        if args.plot:
            from placement_worker.simulation import plot  # noqa: PLC0415

            plot.draw(scenario, history, args.plot)
        if args.report:
            from placement_worker.simulation import report  # noqa: PLC0415

            Path(args.report).write_text(report.page(scenario, history), encoding='utf-8')


def _check_folder(path: str) -> None:
    """See before a long run that its result will have a place.

    :raises FileNotFoundError: it has none.
    """
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, 'No such folder', str(folder))


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f'expected a number of steps, got {text}')
    return int(text)


def _positive(text: str) -> int:
    number = _natural(text)
    if not number:
        raise argparse.ArgumentTypeError('expected at least 1 step, got 0')
    return number


def _step(moment: 'Moment', paint: Paint) -> Iterator[str]:
    """What happened, why, and a row a place."""
    ours, other = moment.ours, moment.other
    yield paint(f'Step {ours.number}: {ours.what}', 'bold') + (
        escaped(f' ({ours.note})') if ours.note else ''
    )
    for check in ours.checks:
        style = paint(check.status, 'green' if check.status == 'OK' else 'red')
        yield f'{output.INDENT}{escaped(check.action)}: {style}, {escaped(check.reason)}'
    if not ours.as_expected:
        yield output.INDENT + paint('That is not what the scenario expects.', 'red')
    others = {one.name: one.nodes for one in other.standings} if other else {}
    rows = [
        {
            'place': one.name,
            'nodes': one.nodes,
            'ideal': None if one.ideal is None else round(one.ideal, 1),
            'deviation': None if one.ideal is None else round(one.deviation, 1),
            'usable': one.usable,
            **({'greedy': others.get(one.name, 0)} if other else {}),
        }
        for one in ours.standings
    ]
    yield from (output.INDENT + line for line in output.table(rows).splitlines())
    yield output.INDENT + _stand(ours)
    if other:
        yield f'{output.INDENT}greedy: {_stand(other)}'
    yield ''


def _stand(record: 'Record') -> str:
    failed = f', {record.failed} of them failed' if record.failed else ''
    return f'{record.size} nodes{failed}; {record.misplaced:.1f} off their ideal, skew {record.skew:.1f}'


def _summary(history: 'History', paint: Paint) -> Iterator[str]:
    sides = [('', history.ours)] + [('greedy: ', history.other)] * bool(history.other.steps)
    for who, totals in sides:
        yield (
            f'{who}{totals.steps} steps, {totals.checks} checks, {totals.errors} of them with errors; '
            f'{totals.created} nodes created, {totals.deleted} deleted; off their ideal {totals.mean:.2f} on average, '
            f'{totals.worst:.1f} at worst'
        )
    if history.ours.unexpected:
        steps = '1 step' if history.ours.unexpected == 1 else f'{history.ours.unexpected} steps'
        yield paint(f'{steps} did not end as the scenario expects.', 'red')
