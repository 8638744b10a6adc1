"""The arguments of the commands `placement-policy cordon`: the place, and values of a cordon."""

import argparse
import datetime
import re
from collections.abc import Callable

from placement_worker.errors import ConfigurationError
from placement_worker.planning.cordon import MAX_NAME

DURATION = re.compile('([1-9][0-9]{0,8})([mhd])')
UNITS = {'m': 'minutes', 'h': 'hours', 'd': 'days'}
"""The keyword of `timedelta` for the unit of a duration."""


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name the place of a cordon."""
    name = text_of_at_most(MAX_NAME)
    parser.add_argument('--zone', type=name, help='zone, of all regions if --region is absent')
    parser.add_argument('--region', type=name, help='region; without --zone, all of its zones')


def add_end(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say when a cordon ends; one of them is required."""
    ends = parser.add_mutually_exclusive_group(required=True)
    ends.add_argument(
        '--until',
        metavar='TIME',
        type=future_time,
        help='end, in ISO 8601 with its offset, e.g. 2026-12-01T06:00Z',
    )
    ends.add_argument(
        '--for',
        metavar='DURATION',
        dest='until',
        type=time_after,
        help='time from now to the end in minutes, hours or days, e.g. 90m, 10h or 2d',
    )


def place_of(args: argparse.Namespace) -> tuple[str | None, str | None]:
    """Return the zone and the region of the arguments.

    :raises ConfigurationError: both are absent.
    """
    if not args.zone and not args.region:
        raise ConfigurationError('Expected --zone, --region or both, got none')
    return args.zone, args.region


def text_of_at_most(most: int) -> Callable[[str], str]:
    """Return the type of an argument that is a text of limited length."""

    def checked(text: str) -> str:
        if not 0 < len(text) <= most:
            raise argparse.ArgumentTypeError(f'expected 1 to {most} characters, got {len(text)}')
        return text

    return checked


def future_time(text: str) -> datetime.datetime:
    """Return the time of an argument.

    :raises ArgumentTypeError: the text is no time in the future with an offset.
    """
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise argparse.ArgumentTypeError(
            f'expected a time in ISO 8601 with its offset, e.g. 2026-12-01T06:00Z, got {text}'
        )
    if moment <= now():
        raise argparse.ArgumentTypeError(f'expected a time in the future, got {text}')
    return moment


def time_after(text: str) -> datetime.datetime:
    """Return the time that is the duration of an argument away, in whole seconds.

    :raises ArgumentTypeError: the text is no duration.
    """
    found = DURATION.fullmatch(text)
    try:
        if found:
            passed = datetime.timedelta(**{UNITS[found[2]]: int(found[1])})
            return now().replace(microsecond=0) + passed
    except OverflowError:
        pass
    raise argparse.ArgumentTypeError(
        f'expected minutes, hours or days, e.g. 90m, 10h or 2d, got {text}'
    )


def now() -> datetime.datetime:
    """Return the time of day."""
    return datetime.datetime.now(datetime.UTC)
