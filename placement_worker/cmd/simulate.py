"""The command `placement-policy simulate`."""

import argparse
import errno
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec
from typing_extensions import override

from placement_worker.cmd import output, simulation_lines
from placement_worker.cmd.base import OK, LocalCommand
from placement_worker.cmd.colors import Paint
from placement_worker.formats.text import escaped
from placement_worker.policies.registry import Registry

if TYPE_CHECKING:  # the other commands must not wait for these imports
    from placement_worker.simulation.history import History, Moment
    from placement_worker.simulation.scenario import Scenario

UNEXPECTED = 1
MAX_SHOWN_STEPS = 100  # the default of --every shows each step up to this length
EXPLAINED = 1000  # default of --explained


class Simulate(LocalCommand):
    """The command `simulate`.

    :cvar progress_delay_s: time until a terminal shows a progress bar, in seconds.
    """

    shows_progress = False  # a bar shows the steps
    progress_delay_s: ClassVar[float] = 1
    _broken_pipe: BrokenPipeError | None = None

    examples = (
        'placement-policy simulate zone-outage    # a shipped scenario',
        'placement-policy simulate zone-outage --compare greedy --report report.html '
        '--plot plot.svg',
        'placement-policy simulate scenario.yaml --every 1000',
        'placement-policy simulate scenario.yaml -f jsonl    # one line of JSON per step',
    )
    epilog = (
        'Exit status: 0 every step ended as the scenario expects, 1 some step did not, 2 the '
        'scenario or the arguments are invalid, or a policy raised an error.'
    )

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'scenario', metavar='SCENARIO', help='YAML or JSON, or the name of a shipped scenario'
        )
        output.add_format_argument(parser, ('table', 'jsonl'))
        parser.add_argument(
            '--every',
            metavar='N',
            type=_positive,
            help=f'show each Nth step; default: 1 up to {MAX_SHOWN_STEPS} steps, else the last',
        )
        parser.add_argument(
            '--compare', choices=('greedy',), help="add Senlin's greedy rule for comparison"
        )
        parser.add_argument('--plot', metavar='FILE', help='write the charts as a picture, .svg')
        parser.add_argument(
            '--report',
            metavar='FILE',
            help='write an HTML page with charts and the explanation of every decision',
        )
        parser.add_argument(
            '--explained',
            metavar='N',
            type=_natural,
            default=EXPLAINED,
            help=f'number of steps that the report explains; default: {EXPLAINED}',
        )

    @override
    def take_action(self, parsed_args: argparse.Namespace) -> int:
        from placement_worker.simulation import scenario_files  # noqa: PLC0415
        from placement_worker.simulation.history import History  # noqa: PLC0415

        args = parsed_args
        for path in filter(None, (args.plot, args.report)):
            _check_folder(path)
        if args.plot:
            from placement_worker.simulation import plot  # noqa: PLC0415

            plot.check(args.plot)
        scenario = scenario_files.load(args.scenario)
        history = History(args.explained if args.report else 0)
        for moment in self._moments(scenario, args):
            history.add(moment)
            if self._is_shown(moment.worker.number, scenario.length, args.every):
                self._show_step(moment, args.format)
            if self._broken_pipe and not (args.plot or args.report):
                raise self._broken_pipe
        if args.format == 'table':
            self.write('\n'.join(simulation_lines.summary(history, Paint.of(self.app.stdout))))
        self._write_files(scenario, history, args)
        if self._broken_pipe:
            raise self._broken_pipe
        return UNEXPECTED if history.worker.unexpected else OK

    @override
    def write(self, text: str) -> None:
        """Print, unless the reader has closed the pipe; the run goes on to write its files."""
        if self._broken_pipe:
            return
        try:
            super().write(text)
        except BrokenPipeError as exc:
            self._broken_pipe = exc

    def _moments(self, scenario: 'Scenario', args: argparse.Namespace) -> Iterator['Moment']:
        """Yield the moments of a run, with a progress bar on a terminal without other output."""
        from tqdm import tqdm  # noqa: PLC0415

        from placement_worker.simulation import greedy  # noqa: PLC0415
        from placement_worker.simulation.history import Moment  # noqa: PLC0415
        from placement_worker.simulation.run import play  # noqa: PLC0415

        installed, explained = Registry.installed(), args.explained if args.report else 0
        worker = play(scenario, installed, explained)
        printing = self.app.stdout.isatty() and self._is_shown(1, scenario.length, args.every)
        quiet = printing or not self.app.stderr.isatty()
        bar = tqdm(
            worker,
            total=scenario.length + 1,
            unit=' steps',
            delay=self.progress_delay_s,
            leave=False,
            disable=quiet,
            file=self.app.stderr,
        )
        if not args.compare:
            yield from map(Moment, bar)
            return
        yield from map(Moment, bar, play(scenario, greedy.registry(installed), explained))

    def _is_shown(self, number: int, length: int, every: int | None) -> bool:
        if every is None:
            every = 1 if length <= MAX_SHOWN_STEPS else length
        return number == length or (number > 0 and number % every == 0)

    def _show_step(self, moment: 'Moment', form: str) -> None:
        if form == 'jsonl':
            self.write(escaped(msgspec.json.encode(moment).decode()))
        else:
            self.write('\n'.join(simulation_lines.step(moment, Paint.of(self.app.stdout))))

    def _write_files(
        self, scenario: 'Scenario', history: 'History', args: argparse.Namespace
    ) -> None:
        """Write the files, and name them unless the output is JSON."""
        if args.plot:
            from placement_worker.simulation import plot  # noqa: PLC0415

            plot.draw(scenario, history, args.plot)
        if args.report:
            from placement_worker.simulation import report  # noqa: PLC0415

            Path(args.report).write_text(report.page(scenario, history), encoding='utf-8')
        for path in filter(None, (args.plot, args.report)):
            if args.format == 'table':
                self.write(escaped(f'Wrote {path}'))


def _check_folder(path: str) -> None:
    """Check before a long run that the folder of an output file exists.

    :raises FileNotFoundError: the folder does not exist.
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
