"""The runbook, against the dashboard and the metrics that it refers to."""

import json
import re
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

from placement_worker.metrics.prometheus import Metrics
from tests.unit.metrics.test_prometheus import EVENTS

ROOT = Path(__file__).parents[3]


def test_panels_of_the_runbook_are_on_the_dashboard():
    """An operator finds each panel that the runbook names, by its exact title."""
    runbook = (ROOT / 'doc' / 'source' / 'runbook.rst').read_text(encoding='utf-8')
    dashboard = json.loads((ROOT / 'conf' / 'grafana-dashboard.json').read_text(encoding='utf-8'))
    named = {' '.join(title.split()) for title in re.findall(r'(?<!\*)\*([^*\s][^*]*)\*', runbook)}

    assert named
    assert named - {panel['title'] for panel in dashboard['panels']} == set()


def test_commands_in_texts_of_runbook_and_alerts_name_the_file_that_they_read():
    """A person who copies a command at night gets its result, and no error of its usage."""
    texts = [
        ' '.join((ROOT / path).read_text(encoding='utf-8').split())
        for path in ('doc/source/runbook.rst', 'conf/prometheus-alerts.yaml')
    ]
    found = re.findall(r'placement-worker-status (?:liveness|readiness)(.{9})', ' '.join(texts))

    assert set(found) == {' --file /'}


def test_command_for_use_without_the_dashboard_shows_the_metrics_of_its_panels():
    """An operator with a shell alone sees what the requests in flight wait for."""
    runbook = (ROOT / 'doc' / 'source' / 'runbook.rst').read_text(encoding='utf-8')
    (pattern,) = re.findall(r"/metrics \| grep -E '(.*)'", runbook)
    registry = CollectorRegistry()
    metrics = Metrics(['t'], registry)
    for event, *_ in EVENTS:
        metrics.handle(event)

    lines = generate_latest(registry).decode().splitlines()

    shown = {re.split('[{ ]', line)[0] for line in lines if re.search(pattern, line)}
    prefix = 'placement_worker_'
    assert shown - {'#'} == {
        f'{prefix}requests_in_work',
        *(f'{prefix}{name}_{end}' for end in ('sum', 'count') for name in (
            'policy_duration_seconds', 'cloud_call_duration_seconds',
            'load_balancer_conflict_wait_seconds',
        )),
    }  # fmt: skip
