"""Examples of commands as they are typed: cliff has what stands below the arguments parsed as
reStructuredText.
"""

from sphinx.application import Sphinx

from placement_worker.cmd.base import Command

shown_by_help = Command.get_epilog


def literal(command: Command) -> str:
    """What `--help` shows, with the examples as a literal block."""
    return shown_by_help(command).replace('Examples:\n', 'Examples::\n\n', 1)


def setup(_app: Sphinx) -> dict[str, bool]:
    """Only while the manual is made."""
    Command.get_epilog = literal  # type: ignore[method-assign]
    return {'parallel_read_safe': True}
