"""The command `placement-policy schema`."""

import argparse
import difflib
import json
from importlib import resources
from pathlib import PurePath

from typing_extensions import override

from placement_worker.cmd.base import OK, LocalCommand

SHIPPED = resources.files('placement_worker.contract') / 'schemas'
"""The JSON Schemas of the messages, one file each; `tools/schemas.py` writes them."""
MAX_NAME_LENGTH = 80  # characters of an unknown name in the message


class Schema(LocalCommand):
    """The command `schema`."""

    examples = (
        'placement-policy schema',
        'placement-policy schema policy_check.request',
    )
    epilog = (
        'Exit status: 0 success, 2 there is no such message. The schemas are those of this version.'
    )

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'name',
            metavar='NAME',
            nargs='?',
            help='a message, e.g. policy_check.request; without it, all names are listed',
        )

    @override
    def take_action(self, parsed_args: argparse.Namespace) -> int:
        if parsed_args.name is None:
            width = max(map(len, names()))
            for name in names():
                self.write(f'{name:<{width}}  {json.loads(text(name))["title"]}')
            return OK
        if parsed_args.name not in names():
            return self.write_error(_unknown(parsed_args.name))
        self.write(text(parsed_args.name).rstrip('\n'))
        return OK


def names() -> list[str]:
    """Return the names of all messages that have a schema."""
    files = (PurePath(file.name) for file in SHIPPED.iterdir())
    return sorted(file.stem for file in files if file.suffix == '.json')


def text(name: str) -> str:
    """Return the schema of a message as JSON."""
    return (SHIPPED / f'{name}.json').read_text(encoding='utf-8')


def _unknown(name: str) -> str:
    shown = name[:MAX_NAME_LENGTH]
    near = difflib.get_close_matches(shown, names(), n=1)
    meant = f' Did you mean "{near[0]}"?' if near else ''
    return f'Unknown message "{shown}".{meant} Run "placement-policy schema" for the list of names'
