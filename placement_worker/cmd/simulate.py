"""The command `placement-policy simulate`: a scenario step by step, with a report and a picture.

A run may take long. A closed pipe therefore ends the output and not the run that writes files.
"""

import errno
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from typing_extensions import override

from placement_worker import errors
from placement_worker.cmd import file_errors, output
from placement_worker.cmd.argument_types import at_least
from placement_worker.cmd.base import OK, LocalCommand
from placement_worker.cmd.output import Paint
from placement_worker.formats.text import counted, escaped
from placement_worker.policies.registry import Registry
from placement_worker.simulation import report
from placement_worker.simulation.history import History
from placement_worker.simulation.run import PlayedStep, StepRecord, played_steps
from placement_worker.simulation.scenario import Scenario, scenario_document, scenario_in

UNEXPECTED = 1
MAX_SHOWN_STEPS = 100  # the default of --every shows each step up to this length
EXPLAINED = 1000  # default of --explained


class Simulate(LocalCommand):
    _broken_pipe: BrokenPipeError | None = None

    examples = (
        'placement-policy simulate zone-outage    # a shipped scenario',
        'placement-policy simulate zone-outage --compare greedy --report report.html '
        '--plot plot.svg',
        'placement-policy simulate scenario.yaml --every 1000',
        'placement-policy simulate scenario.yaml -f json    # with jsonl, one line per step',
    )
    epilog = (
        'Exit status: 0 every step ended as the scenario expects, 1 some step did not, 2 the '
        'scenario or the arguments are invalid, or a policy raised an error.'
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            'scenario', metavar='SCENARIO', help='YAML or JSON, or the name of a shipped scenario'
        )
        output.add_format_argument(parser, (*output.FORMATS, 'jsonl'))
        parser.add_argument(
            '--every',
            metavar='N',
            type=at_least(1, int),
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
            type=at_least(0, int),
            default=EXPLAINED,
            help=f'number of steps that the report explains; default: {EXPLAINED}',
        )

    @override
    def take_action(self, parsed_args: Namespace) -> int:
        args = parsed_args
        for path in filter(None, (args.plot, args.report)):
            folder = Path(path).absolute().parent
            if not folder.is_dir():  # fail before a long run and not after it
                raise FileNotFoundError(errno.ENOENT, 'No such folder', str(folder))
        if args.plot:
            report.check_picture_name(args.plot)
        document = scenario_document(args.scenario)
        scenario = scenario_in(document, args.scenario)
        try:
            return self._played(scenario, args)
        except (errors.InvalidSpec, errors.PolicyTypeNotFound) as exc:
            wrong = file_errors.invalid_document(exc, document, Scenario, str(exc), is_local=True)
            return self.write_failure(exc, wrong, file_errors.headline(wrong, document))

    def _played(self, scenario: Scenario, args: Namespace) -> int:
        explained = args.explained if args.report else 0
        history = History(explained)
        registry, compared = Registry.installed(), bool(args.compare)
        registry.exact = True
        number, length = 0, scenario.length
        every = args.every or (1 if length <= MAX_SHOWN_STEPS else length)
        self.progress.detail = lambda: f', step {number}/{length}'
        for step in played_steps(scenario, registry, explained=explained, compared=compared):
            history.add(step)
            number = step.worker.number
            if number == length or (number > 0 and number % every == 0):
                self.write_result(args.format, step, _step_lines(step, self.paint))
            if self._broken_pipe and not (args.plot or args.report):
                raise self._broken_pipe
        if args.format == 'table':
            self.write('\n'.join(_summary_lines(history, self.paint)))
        self.write_kept(as_array=True)
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

    def _write_files(self, scenario: Scenario, history: History, args: Namespace) -> None:
        if args.plot:
            Path(args.plot).write_text(report.picture(scenario, history), encoding='utf-8')
        if args.report:
            Path(args.report).write_text(report.page(scenario, history), encoding='utf-8')
        if args.format == 'table':
            for path in filter(None, (args.plot, args.report)):
                self.write(escaped(f'Wrote {path}'))


def _step_lines(step: PlayedStep, paint: Paint) -> Iterator[str]:
    worker, other = step.worker, step.other
    yield paint(f'Step {worker.number}: {worker.what}', 'bold') + (
        escaped(f' ({worker.note})') if worker.note else ''
    )
    for check in worker.checks:
        status = output.styled_status(check.status, paint)
        action = escaped(check.action) + (' AFTER' if check.phase == 'AFTER' else '')
        yield f'{output.INDENT}{action}: {status}, {escaped(check.reason)}'
        yield from (output.INDENT + line for line in output.warnings(check.warnings, paint))
    if not worker.as_expected:
        yield output.INDENT + paint('The scenario expects another outcome.', 'red')
    others = other.nodes_by_place if other else {}
    rows = [
        {
            'place': standing.name,
            'nodes': standing.nodes,
            'ideal': None if standing.ideal is None else round(standing.ideal, 1),
            'deviation': None if standing.ideal is None else round(standing.deviation, 1),
            'usable': standing.usable,
            **({'greedy': others.get(standing.name, 0)} if other else {}),
        }
        for standing in worker.standings
    ]
    yield textwrap.indent(output.table(rows), output.INDENT)
    yield output.INDENT + _totals(worker)
    if other:
        yield f'{output.INDENT}greedy: {_totals(other)}'
    yield ''


def _totals(record: StepRecord) -> str:
    failed = f', {record.failed} of them failed' if record.failed else ''
    protected = f', {record.protected} protected' if record.protected else ''
    measures = f'{record.misplaced:.1f} off their ideal, gap {record.skew:.1f}'
    pools = [
        f'; {counted(pool.members, "member")} of {escaped(pool.policy)}' for pool in record.pools
    ]
    updates = f', {counted(record.updates, "update")}' if record.pools else ''
    nodes = counted(record.size, 'node')
    return f'{nodes}{failed}{protected}; {measures}{"".join(pools)}{updates}'


def _summary_lines(history: History, paint: Paint) -> Iterator[str]:
    sides = [('', history.headline, history.worker)]
    if history.other.steps:
        sides.append(('greedy: ', history.other.evenness.clause, history.other))
    for label, verdict, totals in sides:
        refused = f', {totals.refused} failed for lack of capacity' if totals.refused else ''
        yield paint(f'{label}{verdict}.', 'bold')
        yield (
            f'{label}{counted(totals.steps, "step")}, {counted(totals.checks, "check")}, '
            f'{totals.errors} of them with errors; {counted(totals.created, "node")} created, '
            f'{totals.deleted} deleted'
            f'{refused}; off their ideal '
            f'{totals.mean:.2f} on average, {totals.worst:.1f} at worst'
        )
    if history.worker.unexpected:
        steps = counted(history.worker.unexpected, 'step')
        yield paint(f'{steps} did not end as the scenario expects.', 'red')
