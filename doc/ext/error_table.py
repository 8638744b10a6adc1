"""Provide the Sphinx directive ``.. error-table:: Refused``.

The table lists the classes that derive from the named classes of `placement_worker.errors`. A
class without derived classes is listed itself.
"""

from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import list_table, plain

from placement_worker import errors


class ErrorTable(SphinxDirective):
    """Table of exceptions with their docstrings."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return one row per class."""
        families = [getattr(errors, name) for name in self.arguments[0].split()]
        rows = [
            (f'``{one.__name__}``', plain(one.__doc__))
            for family in families
            for one in _leaves(family)
        ]
        return self.parse_text_to_nodes(
            '\n'.join(list_table(('error', 'meaning'), rows, widths='30 70'))
        )


def _leaves(family: type[Exception]) -> Iterator[type[Exception]]:
    """Yield the derived classes, or the class itself without any."""
    derived = family.__subclasses__()
    if not derived:
        yield family
    for one in derived:
        yield one
        yield from (deeper for deeper in _leaves(one) if deeper is not one)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive('error-table', ErrorTable)
    return {'parallel_read_safe': True}
