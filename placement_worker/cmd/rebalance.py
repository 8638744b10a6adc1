"""The command `placement-policy rebalance`: the plan of a rebalance as a table of its steps.

The file may be a check request, e.g. of `placement-policy replay --request`.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from typing_extensions import override

from placement_worker.cmd import output
from placement_worker.cmd.argument_types import at_least
from placement_worker.cmd.base import OK, SOME_ERROR
from placement_worker.cmd.output import Paint
from placement_worker.cmd.request_files import FilesCommand, request_of
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import (
    CheckRequest,
    PlaceOfNode,
    RebalanceImbalance,
    RebalanceReply,
    RebalanceRequest,
    RebalanceStep,
)
from placement_worker.formats.documents import Document
from placement_worker.formats.text import escaped

# Name, type and help of each option of a request.
_OPTIONS: Sequence[tuple[str, Callable[[str], float], str]] = (
    ('--max-moves', at_least(1, int), 'maximum number of nodes to move; default: no limit'),
    ('--max-surge', at_least(1, int), 'maximum number of nodes that a step adds; default: 1'),
    ('--min-gain', at_least(0, float), 'omit moves that reduce the deviation by less; default: 0'),
    (
        '--min-age-s',
        at_least(0, int),
        'do not move nodes younger than this, in seconds; default: 0',
    ),
)
_ONLY_OF_CHECKS = {*CheckRequest.__struct_fields__} - {*RebalanceRequest.__struct_fields__}


class Rebalance(FilesCommand):
    request_type = RebalanceRequest
    examples = (
        'placement-policy rebalance examples/rebalance.yaml',
        'placement-policy rebalance --max-surge 2 --min-age-s 3600 --cloud cloud.yaml cluster.yaml',
        'placement-policy rebalance --config-file /etc/placement-worker/operator.conf '
        '-f json cluster.yaml',
    )
    epilog = (
        'Nothing is changed. The options replace those of the file. Exit status: 0 all plans are '
        'OK, 1 some plan ended in ERROR, 2 a request was invalid or no worker replied.'
    )

    files_help = (
        'clusters with their policies, or check requests, YAML or JSON; - for standard input'
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        for name, number, text in _OPTIONS:
            parser.add_argument(name, type=number, metavar='NUMBER', help=text)

    @override
    def read_of(self, data: Any) -> Any:
        """Return a check request, or its beginning, without the keys that a rebalance lacks."""
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in data.items() if name not in _ONLY_OF_CHECKS}

    @override
    def handle(self, caller: Caller, document: Document, args: Namespace) -> int:
        data = document.data
        if isinstance(data, dict) and 'action' in data:
            data = self.read_of(data)
        request = request_of(_with_options(data, args), RebalanceRequest)
        reply = caller.policy_rebalance(request)
        self.write_result(args.format, reply, _plan_lines(reply, request, self.paint))
        self.note_shipped_cloud(args, document)
        return OK if reply.status == 'OK' else SOME_ERROR


def _plan_lines(reply: RebalanceReply, request: RebalanceRequest, paint: Paint) -> Iterator[str]:
    title = f'Rebalance of {output.cluster_words(request.cluster)}: '
    yield from output.warnings(reply.warnings, paint)
    yield escaped(title) + output.styled_status(reply.status, paint)
    yield escaped(reply.reason)
    if reply.imbalance:
        after = reply.steps[-1].imbalance if reply.steps else reply.imbalance
        yield from (output.INDENT + change for change in _changes(reply.imbalance, after))
    for key, value in reply.details.items():
        yield from output.detail(key, value)
    if reply.steps:
        yield from output.detail('steps', list(_step_rows(reply.steps)))
        first = reply.steps[0]
        if first.load_balancing:
            seconds = first.grace_period
            wait = f'; {output.drain_sentence(seconds)}' if seconds else ''
            yield (
                f'{output.INDENT}members: added AFTER the creation, removed BEFORE the deletion by '
                f'the checks of the engine{wait}'
            )
    yield ''


def _changes(before: RebalanceImbalance, after: RebalanceImbalance) -> Iterator[str]:
    if before.misplaced:
        yield f'misplaced nodes: {before.misplaced} -> {after.misplaced}'
    for name in ('regions', 'zones'):
        was, now = getattr(before, name), getattr(after, name)
        if was is not None and now is not None:
            yield f'deviation of the {name}: {was:.4g} -> {now:.4g}'


def _step_rows(steps: Sequence[RebalanceStep]) -> Iterator[dict[str, Any]]:
    for number, step in enumerate(steps, start=1):
        for place, victim in zip(step.create, step.delete, strict=True):
            yield {
                'step': number,
                'create_in': _place(place),
                'by': 'a scale-out' if step.scale_out else 'a profile that names the place',
                'then_delete': victim.name or victim.id,
                'of': _place(victim.place),
                'reason': victim.reason,
            }


def _place(place: PlaceOfNode) -> str:
    return '/'.join(filter(None, (place.region_name, place.zone)))


def _with_options(document: Any, args: Namespace) -> Any:
    names = (name.removeprefix('--').replace('-', '_') for name, *_ in _OPTIONS)
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    options = document.get('options', {}) if isinstance(document, dict) else None
    if not given or not isinstance(options, dict):
        return document
    return {**document, 'options': {**options, **given}}
