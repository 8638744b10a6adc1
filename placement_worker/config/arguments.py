"""Wrong options on the command line of programs that use oslo.config."""

import difflib
import io
import re
from collections.abc import Sequence

from oslo_config import cfg
from oslo_log import log

from placement_worker.formats.text import shortened

SIMILAR = 0.7
"""From this similarity on, a known option is probably meant; --bogus has 0.67."""


def describe_wrong(
    program: str, arguments: Sequence[str], options: Sequence[str] = ()
) -> str | None:
    """Return a sentence about an unknown option, a surplus argument or a missing value, or None.

    argparse prints all options, with the value of the unknown one as a part of its error. It also
    accepts abbreviations, which are therefore known.

    :param options: the options of the program besides those of oslo.config and oslo.log.
    """
    usage = _library_usage(program)
    known = [*options, *re.findall(r'--[\w-]+', usage), '--help']
    for argument in arguments:
        name = argument.partition('=')[0]
        if name.startswith('--') and not any(option.startswith(name) for option in known):
            near = _nearest(shortened(name), known)
            meant = f' (did you mean {near}?)' if near else ''
            return f'Unknown option {shortened(name)}{meant}; run "{program} --help" for the usage'
    wrong = _wrong_value(arguments, re.findall(r'(--[\w-]+) [A-Z{]', usage), bool(options))
    return wrong and f'{wrong}; run "{program} --help" for the usage'


def _nearest(name: str, known: Sequence[str]) -> str | None:
    """Return the option whose beginning is most like a misspelled one, or None.

    A comparison with whole options would prefer --config-dir to --config-file for `--confg`.
    """
    similarity, option = max(
        (difflib.SequenceMatcher(None, option[: len(name) + 1], name).ratio(), option)
        for option in known
    )
    return option if similarity >= SIMILAR else None


def _wrong_value(
    arguments: Sequence[str], with_values: Sequence[str], has_commands: bool
) -> str | None:
    """Return a phrase about the first argument without an option, or option without its value."""
    option = None
    for argument in [*arguments, '--']:
        if argument.startswith('-'):
            if option:
                return f'Option {option} needs a value'
        elif not option and not has_commands:
            return f'Unexpected argument {shortened(argument)}'
        is_open = len(argument) > len('--') and any(o.startswith(argument) for o in with_values)
        option = argument if is_open else None
    return None


def _library_usage(program: str) -> str:
    conf = cfg.ConfigOpts()
    log.register_options(conf)
    conf([], project=program, version='', default_config_files=[], default_config_dirs=[])
    usage = io.StringIO()
    conf.print_usage(usage)
    return usage.getvalue()
