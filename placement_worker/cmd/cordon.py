"""The commands `placement-policy cordon add`, `list` and `remove`.

They edit the cordon file that workers read.
"""

import contextlib
import datetime
import functools
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from typing_extensions import override

from placement_worker.cmd import targets
from placement_worker.cmd.base import OK, Lister, LocalCommand, row_of
from placement_worker.cordons import cordon_file
from placement_worker.errors import ConfigurationError
from placement_worker.formats.text import day_or_time, escaped, listed
from placement_worker.planning.places import MAX_NAME, MAX_REASON, Cordon, cordons_in_force

DURATION = re.compile('([1-9][0-9]{0,8})([mhd])')
UNITS = {'m': 'minutes', 'h': 'hours', 'd': 'days'}  # keywords of timedelta


class CordonCommand(LocalCommand):
    epilog = 'Exit status: 0 success, 2 the cordon file cannot be used, or wrong arguments.'

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        files = parser.add_mutually_exclusive_group(required=True)
        files.add_argument('--cordon-file', metavar='FILE', help='cordon file, YAML or JSON')
        files.add_argument(
            '--config-file',
            metavar='FILE',
            help='configuration of the workers; [placement] cordon_file names the cordon file',
        )

    def path_of(self, args: Namespace) -> str:
        if args.cordon_file:
            return str(args.cordon_file)
        path = targets.messaging().configured(args.config_file).placement.cordon_file
        if not path:
            raise ConfigurationError(f'{args.config_file}: [placement] cordon_file is not set')
        return str(path)


class EditCommand(CordonCommand):
    epilog = (
        'The command rewrites the file. It keeps mode and owner, but of the comments only those '
        f'before the first cordon. {CordonCommand.epilog}'
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        name = functools.partial(_text, most=MAX_NAME)
        parser.add_argument('--zone', type=name, help='zone, of all regions if --region is absent')
        parser.add_argument('--region', type=name, help='region; without --zone, all of its zones')

    def edit(self, args: Namespace, change: cordon_file.Edit) -> None:
        path = self.path_of(args)
        if cordon_file.edit(path, change):
            self.write_error(f'{path}: comments after the first cordon were not kept')


class CordonList(CordonCommand, Lister):
    examples = ('placement-policy cordon list --cordon-file cordons.yaml',)

    nothing = 'No cordons.'
    has_more = True

    @override
    def rows(self, args: Namespace) -> Iterator[Mapping[str, Any]]:
        cordons = cordon_file.read(self.path_of(args))
        in_force = cordons_in_force(cordons, _now())
        for cordon in cordons:
            if self.is_long(args):
                yield {**row_of(cordon), 'in_force': cordon in in_force}
            else:
                state = 'evacuated' if cordon.evacuate else 'closed'
                yield {
                    'place': cordon.place,
                    'until': day_or_time(cordon.until),
                    'state': state if cordon in in_force else 'ended',
                    'reason': cordon.reason,
                }


class CordonAdd(EditCommand):
    examples = (
        'placement-policy cordon add --cordon-file c.yaml --zone az1 --until 2999-12-01T06:00Z',
        'placement-policy cordon add --cordon-file c.yaml --region R2 --until 2999-12-24T18:00Z '
        '--evacuate',
        'placement-policy cordon add --cordon-file c.yaml --zone az1 --for 10h',
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        ends = parser.add_mutually_exclusive_group(required=True)
        ends.add_argument(
            '--until',
            metavar='TIME',
            type=_future_time,
            help='end, in ISO 8601 with its offset, e.g. 2026-12-01T06:00Z',
        )
        ends.add_argument(
            '--for',
            metavar='DURATION',
            dest='until',
            type=_time_after,
            help='time from now to the end in minutes, hours or days, e.g. 90m, 10h or 2d',
        )
        reason = functools.partial(_text, most=MAX_REASON)
        parser.add_argument('--reason', type=reason, help='shown to users')
        parser.add_argument(
            '--evacuate', action='store_true', help='delete nodes of this place before others'
        )
        parser.add_argument(
            '--replace',
            action='store_true',
            help='replace the cordon of the same place; without one, add a cordon and say so',
        )

    @override
    def take_action(self, parsed_args: Namespace) -> int:
        args = parsed_args
        _require_place(args)
        names = ('zone', 'region', 'until', 'evacuate')
        new = Cordon(**{name: getattr(args, name) for name in names}, reason=args.reason or '')
        replaced: list[Cordon] = []

        def added(cordons: list[Cordon]) -> list[Cordon]:
            same = _of_place(cordons, args)
            lasting = cordons_in_force(same, _now())
            if lasting and not args.replace:
                raise ConfigurationError(
                    f'{lasting[0]}; use --replace to replace this cordon with a new one'
                )
            replaced.extend(same)
            return [*(cordon for cordon in cordons if cordon not in same), new]

        self.edit(args, added)
        self.write(escaped(f'{new}{", and evacuated" if new.evacuate else ""}'))
        if args.replace and not replaced:
            self.write_error(f'No cordon of {new.place} to replace; added a new one')
        return OK


class CordonRemove(EditCommand):
    examples = (
        'placement-policy cordon remove --cordon-file cordons.yaml --zone az1',
        'placement-policy cordon remove --cordon-file cordons.yaml --ended',
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            '--ended', action='store_true', help='remove all cordons that have ended'
        )

    @override
    def take_action(self, parsed_args: Namespace) -> int:
        args = parsed_args
        removed: list[Cordon] = []
        if not args.ended:
            _require_place(args)
        elif args.zone or args.region:
            raise ConfigurationError('--ended excludes --zone and --region')

        def remaining(cordons: list[Cordon]) -> list[Cordon]:
            if args.ended:
                lasting = cordons_in_force(cordons, _now())
                removed.extend(cordon for cordon in cordons if cordon not in lasting)
            else:
                removed.extend(_of_place(cordons, args))
                if not removed:
                    place = Cordon(zone=args.zone, region=args.region, until=_now()).place
                    known = listed(cordon.place for cordon in cordons) or 'none'
                    raise ConfigurationError(f'Unknown cordon of {place}; cordoned places: {known}')
            return [cordon for cordon in cordons if cordon not in removed]

        self.edit(args, remaining)
        for cordon in removed:
            self.write(escaped(f'Removed the cordon of {cordon.place}'))
        if not removed:
            self.write('No cordon has ended.')
        return OK


def _require_place(args: Namespace) -> None:
    if not args.zone and not args.region:
        raise ConfigurationError('Expected --zone, --region or both, got none')


def _text(text: str, most: int) -> str:
    if not 0 < len(text) <= most:
        raise ArgumentTypeError(f'expected 1 to {most} characters, got {len(text)}')
    return text


def _future_time(text: str) -> datetime.datetime:
    try:
        moment = datetime.datetime.fromisoformat(text)
        is_past = moment <= _now()
    except (ValueError, TypeError):  # TypeError: the time has no offset
        raise ArgumentTypeError(
            f'expected a time in ISO 8601 with its offset, e.g. 2026-12-01T06:00Z, got {text}'
        ) from None
    if is_past:
        raise ArgumentTypeError(f'expected a time in the future, got {text}')
    return moment


def _time_after(text: str) -> datetime.datetime:
    if duration := DURATION.fullmatch(text):
        with contextlib.suppress(OverflowError):
            passed = datetime.timedelta(**{UNITS[duration[2]]: int(duration[1])})
            return _now().replace(microsecond=0) + passed
    raise ArgumentTypeError(f'expected minutes, hours or days, e.g. 90m, 10h or 2d, got {text}')


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def _of_place(cordons: Sequence[Cordon], args: Namespace) -> list[Cordon]:
    place = (args.region, args.zone)
    return [cordon for cordon in cordons if cordon.key == place]
