"""The runbook, against the dashboard that it refers to."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_panels_of_the_runbook_are_on_the_dashboard():
    """An operator finds each panel that the runbook names, by its exact title."""
    runbook = (ROOT / 'doc' / 'source' / 'runbook.rst').read_text(encoding='utf-8')
    dashboard = json.loads((ROOT / 'conf' / 'grafana-dashboard.json').read_text(encoding='utf-8'))
    named = {' '.join(title.split()) for title in re.findall(r'(?<!\*)\*([^*\s][^*]*)\*', runbook)}

    assert named
    assert named - {panel['title'] for panel in dashboard['panels']} == set()
