"""The arguments of the commands `placement-policy cordon`: the place, and values of a cordon."""

import argparse
import datetime
from collections.abc import Callable

from placement_worker.errors import ConfigurationError
from placement_worker.planning.cordon import MAX_NAME


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name the place of a cordon."""
    name = text_of_at_most(MAX_NAME)
    parser.add_argument('--zone', type=name, help='zone, of all regions if --region is absent')
    parser.add_argument('--region', type=name, help='region; without --zone, all of its zones')


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


def now() -> datetime.datetime:
    """Return the time of day."""
    return datetime.datetime.now(datetime.UTC)
