"""Put tables and pictures into boxes that scroll, and let long names break at punctuation.

A name such as `placement_worker_check_duration_seconds` is wider than a column of a table, and
than the screen of a phone. A break adds no character to text that a reader copies.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator
from typing_extensions import override

JOINTS = re.compile(r'&[#\w]+;|[_./:=,](?=\w)')
"""Character references, which stay whole, and punctuation."""
HUMPS = re.compile(r'(?<=[a-z])(?=[A-Z])(?=\w*[a-z][A-Z])')
"""The humps of PlacementWorkerQueueGrows, but not of OpenStack."""
LONG_IN_TEXT, LONG_IN_TABLE = 30, 12


class Translator(HTML5Translator):
    """Sphinx's translator with boxes around tables and pictures and breaks in long names."""

    @override
    def visit_table(self, node: nodes.Element) -> None:
        self.body.append('<div class="scroll-box">')
        super().visit_table(node)

    @override
    def depart_table(self, node: nodes.Element) -> None:
        super().depart_table(node)
        self.body.append('</div>\n')

    @override
    def visit_image(self, node: nodes.Element) -> None:
        super().visit_image(node)
        if not isinstance(node.parent, nodes.TextElement):
            self.body[-1] = f'<div class="scroll-box">{self.body[-1].strip()}</div>\n'

    @override
    def visit_Text(self, node: nodes.Text) -> None:
        before = len(self.body)
        super().visit_Text(node)
        if self.protect_literal_text:
            long = LONG_IN_TABLE if _is_in_table(node) else LONG_IN_TEXT
            self.body[before:] = [_literal(token, long) for token in self.body[before:]]
        elif isinstance(node.parent, nodes.title):
            self.body[before:] = [HUMPS.sub('<wbr>', text) for text in self.body[before:]]


def _is_in_table(node: nodes.Node) -> bool:
    while node.parent and not isinstance(node, nodes.entry):
        node = node.parent
    return isinstance(node, nodes.entry)


def _literal(token: str, long: int) -> str:
    start, end = '<span class="pre">', '</span>'
    name = token.removeprefix(start).removesuffix(end)
    if name == token or len(name) < long:
        return token
    return start + JOINTS.sub(_joint, name) + end


def _joint(found: re.Match[str]) -> str:
    text = found.group()
    return text if text.startswith('&') else text + '<wbr>'


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the translator."""
    app.set_translator('html', Translator)
    return {'version': '1', 'parallel_read_safe': True, 'parallel_write_safe': True}
