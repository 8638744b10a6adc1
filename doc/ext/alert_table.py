"""Provide the Sphinx directive ``.. alert-table::``: the rules of conf/prometheus-alerts.yaml."""

import re
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import list_table

RULES = Path(__file__).parents[2] / 'conf' / 'prometheus-alerts.yaml'
TEMPLATE = re.compile(r'{{.*?}}')


class AlertTable(SphinxDirective):
    """Table of alerts with their summaries, the time that they need, and severities."""

    def run(self) -> list[nodes.Node]:
        """Return one row per rule."""
        (group,) = yaml.safe_load(RULES.read_text(encoding='utf-8'))['groups']
        rows = [
            (
                f'``{rule["alert"]}``',
                TEMPLATE.sub('...', rule['annotations']['summary']),
                rule.get('for', 'at once'),
                rule['labels']['severity'],
            )
            for rule in group['rules']
        ]
        table = list_table(('alert', 'meaning', 'after', 'severity'), rows)
        return self.parse_text_to_nodes('\n'.join(table))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive('alert-table', AlertTable)
    return {'parallel_read_safe': True}
