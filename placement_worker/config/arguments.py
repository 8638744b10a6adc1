"""Unknown options on the command line of programs that use oslo.config."""

import difflib
import io
import re
from collections.abc import Sequence

from oslo_config import cfg
from oslo_log import log

from placement_worker.formats.text import shortened


def describe_unknown(
    program: str, arguments: Sequence[str], options: Sequence[str] = ()
) -> str | None:
    """Return a sentence about the first unknown option or surplus argument, or None.

    argparse prints all options, with the value of the unknown one as a part of its error. It also
    accepts abbreviations, which are therefore known.

    :param options: the options of the program besides those of oslo.config and oslo.log.
    """
    usage = _library_usage(program)
    known = [*options, *re.findall(r'--[\w-]+', usage), '--help']
    for argument in arguments:
        name = argument.partition('=')[0]
        if name.startswith('--') and not any(option.startswith(name) for option in known):
            near = difflib.get_close_matches(shortened(name), known, n=1)
            meant = f' (did you mean {near[0]}?)' if near else ''
            return f'Unknown option {shortened(name)}{meant}; run "{program} --help" for the usage'
    stray = None if options else _stray(arguments, re.findall(r'(--[\w-]+) [A-Z]', usage))
    if stray:
        return f'Unexpected argument {shortened(stray)}; run "{program} --help" for the usage'
    return None


def _stray(arguments: Sequence[str], with_values: Sequence[str]) -> str | None:
    """Return the first argument that is neither an option nor the value of one, or None."""
    is_value = False
    for argument in arguments:
        if not argument.startswith('-') and not is_value:
            return argument
        is_value = any(option.startswith(argument) for option in with_values)
    return None


def _library_usage(program: str) -> str:
    conf = cfg.ConfigOpts()
    log.register_options(conf)
    conf([], project=program, version='', default_config_files=[], default_config_dirs=[])
    usage = io.StringIO()
    conf.print_usage(usage)
    return usage.getvalue()
