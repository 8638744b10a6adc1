"""Provide the Sphinx directive ``.. exchange:: NAME``: a request of the manual and its reply."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Exchange(SphinxDirective):
    """The request and the reply of a name."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return both messages with captions."""
        lines = []
        for part in ('request', 'reply'):
            lines += [f'.. literalinclude:: exchanges/{self.arguments[0]}.{part}.json']
            lines += ['   :language: json', f'   :caption: {part}', '']
        return self.parse_text_to_nodes('\n'.join(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive('exchange', Exchange)
    return {'parallel_read_safe': True}
