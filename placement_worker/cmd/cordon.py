"""The commands `placement-policy cordon add`, `list` and `remove`."""

import argparse
import datetime
import textwrap
from collections.abc import Sequence
from typing import Any

import msgspec
from typing_extensions import override

from placement_worker.cmd import cordon_arguments, output, threading_backend
from placement_worker.cmd.base import OK, LocalCommand
from placement_worker.cmd.cordon_arguments import now
from placement_worker.cordons import cordon_file
from placement_worker.errors import ConfigurationError
from placement_worker.formats import moments
from placement_worker.formats.text import escaped, listed
from placement_worker.planning.cordon import MAX_REASON, Cordon, in_force

PLACE_WIDTH, REASON_WIDTH = 20, 18
"""The widths of columns of the list, which fits into 80 columns with them."""
EXIT_STATUS = 'Exit status: 0 success, 2 the cordon file cannot be used, or wrong arguments.'
REWRITES = (
    'The command rewrites the file. It keeps mode and owner, but of the comments only those before '
    'the first cordon. '
)


class CordonCommand(LocalCommand):
    """A command on the cordon file."""

    epilog = EXIT_STATUS

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        files = parser.add_mutually_exclusive_group(required=True)
        files.add_argument('--cordon-file', metavar='FILE', help='cordon file, YAML or JSON')
        files.add_argument(
            '--config-file',
            metavar='FILE',
            help='configuration of the workers; [placement] cordon_file names the cordon file',
        )

    def path_of(self, args: argparse.Namespace) -> str:
        """Return the path of the cordon file.

        :raises ConfigurationError: the configuration names none.
        """
        if args.cordon_file:
            return str(args.cordon_file)
        threading_backend.choose()
        from placement_worker.cmd import remote  # noqa: PLC0415  # slow: imports oslo.messaging

        path = remote.configured(args.config_file).placement.cordon_file
        if not path:
            raise ConfigurationError(f'{args.config_file}: [placement] cordon_file is not set')
        return str(path)

    def edit(self, args: argparse.Namespace, change: cordon_file.Change) -> None:
        """Change the cordon file, and report comments that are lost."""
        path = self.path_of(args)
        if cordon_file.edit(path, change):
            self.write_error(f'{path}: comments after the first cordon were not kept')


class CordonList(CordonCommand):
    """The command `cordon list`."""

    examples = ('placement-policy cordon list --cordon-file cordons.yaml',)

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        output.add_format_argument(parser)

    @override
    def take_action(self, parsed_args: argparse.Namespace) -> int:
        cordons, shown_at = cordon_file.read(self.path_of(parsed_args)), now()
        if parsed_args.format != 'table':
            rows = [
                {**msgspec.to_builtins(one), 'in_force': bool(in_force([one], shown_at))}
                for one in cordons
            ]
            self.write(output.document(rows, parsed_args.format))
        elif cordons:
            self.write(output.table([_row(one, shown_at) for one in cordons]))
        else:
            self.write('No cordons.')
        return OK


class CordonAdd(CordonCommand):
    """The command `cordon add`."""

    epilog = REWRITES + EXIT_STATUS
    examples = (
        'placement-policy cordon add --cordon-file c.yaml --zone az1 --until 2999-12-01T06:00Z',
        'placement-policy cordon add --cordon-file c.yaml --region R2 --until 2999-12-24T18:00Z '
        '--evacuate',
        'placement-policy cordon add --cordon-file c.yaml --zone az1 --for 10h',
    )

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        cordon_arguments.add_place(parser)
        cordon_arguments.add_end(parser)
        parser.add_argument(
            '--reason', type=cordon_arguments.text_of_at_most(MAX_REASON), help='shown to users'
        )
        parser.add_argument(
            '--evacuate', action='store_true', help='delete nodes of this place before others'
        )
        parser.add_argument(
            '--replace', action='store_true', help='replace a cordon of the same place'
        )

    @override
    def take_action(self, parsed_args: argparse.Namespace) -> int:
        args = parsed_args
        zone, region = cordon_arguments.place_of(args)
        new = Cordon(
            zone=zone,
            region=region,
            until=args.until,
            reason=args.reason or '',
            evacuate=args.evacuate,
        )

        def added(cordons: list[Cordon]) -> list[Cordon]:
            same = _of_place(cordons, new.zone, new.region)
            lasting = in_force(same, now())
            if lasting and not args.replace:
                raise ConfigurationError(
                    f'{lasting[0]}; use --replace to replace this cordon with a new one'
                )
            return [*(one for one in cordons if one not in same), new]

        self.edit(args, added)
        self.write(escaped(f'{new}{", and evacuated" if new.evacuate else ""}'))
        self._note_unknown_place(new, args)
        return OK

    def _note_unknown_place(self, new: Cordon, args: argparse.Namespace) -> None:
        if not args.config_file:
            return
        from placement_worker.cmd import cordon_places, remote  # noqa: PLC0415  # slow imports

        sentence = cordon_places.unknown(new, remote.configured(args.config_file))
        if sentence:
            self.write_error(sentence)


class CordonRemove(CordonCommand):
    """The command `cordon remove`."""

    epilog = REWRITES + EXIT_STATUS
    examples = (
        'placement-policy cordon remove --cordon-file cordons.yaml --zone az1',
        'placement-policy cordon remove --cordon-file cordons.yaml --ended',
    )

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        cordon_arguments.add_place(parser)
        parser.add_argument(
            '--ended', action='store_true', help='remove all cordons that have ended'
        )

    @override
    def take_action(self, parsed_args: argparse.Namespace) -> int:
        args = parsed_args
        removed: list[Cordon] = []
        if args.ended:
            if args.zone or args.region:
                raise ConfigurationError('--ended excludes --zone and --region')
        else:
            cordon_arguments.place_of(args)

        def remaining(cordons: list[Cordon]) -> list[Cordon]:
            if args.ended:
                lasting = in_force(cordons, now())
                removed.extend(one for one in cordons if one not in lasting)
            else:
                removed.extend(_of_place(cordons, args.zone, args.region))
                _check_found(removed, cordons, args)
            return [one for one in cordons if one not in removed]

        self.edit(args, remaining)
        for one in removed:
            self.write(escaped(f'Removed the cordon of {one.place}'))
        if not removed:
            self.write('No cordon has ended.')
        return OK


def _of_place(cordons: Sequence[Cordon], zone: str | None, region: str | None) -> list[Cordon]:
    return [one for one in cordons if (one.zone, one.region) == (zone, region)]


def _check_found(
    found: Sequence[Cordon], cordons: Sequence[Cordon], args: argparse.Namespace
) -> None:
    """Check that there is a cordon of the place that the arguments name.

    :raises ConfigurationError: there is none; the text lists the cordoned places.
    """
    if found:
        return
    asked = Cordon(zone=args.zone, region=args.region, until=now())
    others = listed(one.place for one in cordons) or 'none'
    raise ConfigurationError(f'Unknown cordon of {asked.place}; cordoned places: {others}')


def _row(one: Cordon, shown_at: datetime.datetime) -> dict[str, Any]:
    state = 'evacuated' if one.evacuate else 'closed'
    return {
        'place': textwrap.wrap(escaped(one.place), PLACE_WIDTH),
        'until': moments.shown(one.until).replace('T', ' '),
        'state': state if in_force([one], shown_at) else 'ended',
        'reason': textwrap.wrap(escaped(one.reason), REASON_WIDTH),
    }
