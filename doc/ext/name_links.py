"""Link names in code font to their descriptions: options, commands, errors, metrics and others.

`names` lists the kinds of names. A section links each name once. An option of a group of the
worker that does not exist is a warning.
"""

from docutils import nodes
from names import labels_of, option_of
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

LOG = logging.getLogger(__name__)
UNLINKED = (nodes.title, nodes.caption, nodes.reference, pending_xref)
"""Elements inside which no name becomes a link."""
HISTORY = 'release-notes'
"""The page that may name options of earlier versions."""
Place = tuple[str, str]
"""The name of a page, and an anchor on it."""


class NameLinks(SphinxPostTransform):
    """Replacement of literals by links."""

    formats = ('html',)
    default_priority = 5  # before Sphinx resolves the other references

    def run(self, **_: object) -> None:
        """Link the first occurrence of each name in a section."""
        seen = set()
        for literal in list(self.document.findall(nodes.literal)):
            place = self._place(literal)
            key = (id(_section(literal)), place)
            if place and key not in seen and _may_link(literal, self.env.docname, place):
                seen.add(key)
                link = make_refnode(self.app.builder, self.env.docname, *place, literal.deepcopy())
                literal.replace_self(link)

    def _place(self, literal: nodes.literal) -> Place | None:
        """Return the place of the description of a name, or None."""
        name = ' '.join(literal.astext().split())
        if option := option_of(name):
            return self._place_of_option(literal, *option)
        labels = self.env.domains.standard_domain.anonlabels
        return next((labels[label] for label in labels_of(name) if label in labels), None)

    def _place_of_option(
        self, literal: nodes.literal, group: str, name: str | None
    ) -> Place | None:
        known = self.env.domaindata['oslo.config']
        if group not in known['groups']:
            return None  # a group of a library, which the page of options does not describe
        if name is None:
            return known['groups'][group], group
        anchor = f'{group}.{name}'
        if anchor not in known['options']:
            if self.env.docname != HISTORY:
                LOG.warning('Unknown option [%s] %s', group, name, location=literal)
            return None
        return known['options'][anchor], anchor


def _section(node: nodes.Node) -> nodes.Node | None:
    while node is not None and not isinstance(node, nodes.section):
        node = node.parent
    return node


def _may_link(literal: nodes.literal, docname: str, place: Place) -> bool:
    """Return whether a name is neither in a title or a link nor in its own description."""
    node = literal
    while node is not None:
        if isinstance(node, UNLINKED):
            return False
        if place[0] == docname and place[1] in getattr(node, 'attributes', {}).get('ids', ()):
            return False
        node = node.parent
    return True


def _note_labels(app: Sphinx, doctree: nodes.document) -> None:
    """Give labels to programs, commands and metrics, whose descriptions have none."""
    page = app.env.docname
    note = app.env.domains.standard_domain.note_hyperlink_target
    if page.startswith('man/'):
        for section in doctree.findall(nodes.section):
            anchor = section['ids'][0]
            if isinstance(section.parent, nodes.document):
                note(f'program-{anchor}', page, anchor)
            elif 'commands' in section.parent['ids']:
                note(f'command-{anchor}', page, anchor)
    for row in doctree.findall(nodes.row):
        first = next(iter(row[0].findall(nodes.literal)), None)
        name = first.astext() if first else ''
        if page == 'monitoring' and name.startswith('placement_worker_'):
            anchor = nodes.make_id(f'metric-{name}')
            first['ids'].append(anchor)
            note(f'metric-{name}', page, anchor)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the replacement and the labels."""
    app.add_post_transform(NameLinks)
    app.connect('doctree-read', _note_labels)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
