"""Provide the Sphinx directive ``.. input-table::`` with the known inputs of each action."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import list_table

from placement_worker.contract import known_inputs


class InputTable(SphinxDirective):
    """Table of actions with the keys of their inputs."""

    def run(self) -> list[nodes.Node]:
        """Return one row per action, and one for all of them."""
        rows = [('all', _listed(known_inputs.COMMON))]
        rows += [
            (action, 'any' if keys is None else _listed(keys))
            for action, keys in known_inputs.BY_ACTION.items()
        ]
        return self.parse_text_to_nodes(
            '\n'.join(list_table(('action', 'keys'), rows, widths='35 65'))
        )


def _listed(keys: tuple[str, ...]) -> str:
    return ', '.join(f'``{key}``' for key in keys) or 'none of its own'


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive('input-table', InputTable)
    return {'parallel_read_safe': True}
