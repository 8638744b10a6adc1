"""A Sphinx directive that lists errors: ``.. error-table:: Refused`` has those that derive from one
of `errors`.

Without a class that derives from it, an error stands for itself; several names are several
families.
"""

from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import drawn, plain

from placement_worker import errors


class ErrorTable(SphinxDirective):
    """The errors of some families, with what their docstrings say."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """A row a class."""
        families = [getattr(errors, name) for name in self.arguments[0].split()]
        rows = [
            (f'``{one.__name__}``', plain(one.__doc__))
            for family in families
            for one in _leaves(family)
        ]
        return self.parse_text_to_nodes(
            '\n'.join(drawn(('error', 'what it says'), rows, widths='30 70'))
        )


def _leaves(family: type[Exception]) -> Iterator[type[Exception]]:
    """The class itself if nothing derives from it; else all that do."""
    derived = family.__subclasses__()
    if not derived:
        yield family
    for one in derived:
        yield one
        yield from (deeper for deeper in _leaves(one) if deeper is not one)


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directive known."""
    app.add_directive('error-table', ErrorTable)
    return {'parallel_read_safe': True}
