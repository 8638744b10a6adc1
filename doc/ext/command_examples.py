"""Show the examples of commands as typed.

cliff parses the text below the arguments as reStructuredText.
"""

from sphinx.application import Sphinx

from placement_worker.cmd.base import Command

epilog = Command.get_epilog


def literal(command: Command) -> str:
    """Return the epilog of `--help` with its examples as a literal block."""
    return epilog(command).replace('Examples:\n', 'Examples::\n\n', 1)


def setup(_app: Sphinx) -> dict[str, bool]:
    """Replace the epilog while Sphinx builds the manual."""
    Command.get_epilog = literal  # type: ignore[method-assign]
    return {'parallel_read_safe': True}
