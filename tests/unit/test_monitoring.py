"""The dashboard, the alert rules and the runbook: their form, and the metrics that they use."""

import datetime
import itertools
import json
import re
import shlex
import subprocess
from pathlib import Path

import promql_parser
import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest

from placement_worker.handlers.request_log import RequestLog
from placement_worker.metrics.prometheus import CordonCollector, Metrics, WorkerCollector
from tests.factories import NOW
from tests.unit.handlers.test_request_log import binding, check
from tests.unit.metrics.test_prometheus import EVENTS, FakeCordons

CONF = Path(__file__).parents[2] / 'conf'
MANUAL = Path(__file__).parents[2] / 'doc' / 'source' / 'monitoring.rst'
RUNBOOK = MANUAL.with_name('runbook.rst')
# The labels that Prometheus adds.
TARGET = {'job', 'instance'}
# Series of other exporters and their labels, see tests/functional/test_metrics.py.
OTHERS = {
    'up': set(),
    'rabbitmq_detailed_queue_messages_ready': {'vhost', 'queue'},
    'rabbitmq_detailed_queue_consumers': {'vhost', 'queue'},
}
GRAFANA = {'$__rate_interval': '5m', '$instance': '.*', '$queues': 'placement-worker'}


DASHBOARD = json.loads((CONF / 'grafana-dashboard.json').read_bytes())
PANELS = DASHBOARD['panels']
RULES = yaml.safe_load((CONF / 'prometheus-alerts.yaml').read_text())['groups'][0]['rules']
QUERIES = [
    (panel['title'], target['expr']) for panel in PANELS for target in panel.get('targets', ())
]
EXPRESSIONS = [*QUERIES, *((rule['alert'], rule['expr']) for rule in RULES)]
ALERTS = [rule['alert'] for rule in RULES]


def filled():
    registry = CollectorRegistry()
    registry.register(WorkerCollector())
    registry.register(CordonCollector(FakeCordons, lambda: NOW))
    metrics = Metrics(['t'], registry)
    for event, *_ in EVENTS:
        metrics.handle(event)
    return registry


def exposed():
    samples = [sample for family in filled().collect() for sample in family.samples]
    return {
        sample.name: set(sample.labels)
        for sample in samples
        if not sample.name.endswith('_created')
    }


def parsed(expression):
    for variable, value in GRAFANA.items():
        expression = expression.replace(variable, value)
    return promql_parser.parse(expression)


def nodes(expression):
    found = [expression]
    for name in ('lhs', 'rhs', 'expr', 'param', 'vector_selector'):
        part = getattr(expression, name, None)
        if part is not None:
            found += nodes(part)
    for part in getattr(expression, 'args', ()):
        found += nodes(part)
    return found


def selectors(expression):
    return [
        one for one in nodes(parsed(expression)) if isinstance(one, promql_parser.VectorSelector)
    ]


@pytest.mark.parametrize(('title', 'expression'), EXPRESSIONS)
def test_query_uses_existing_metrics_and_labels(title, expression):
    """Each query is PromQL and uses series and labels that an exporter has."""
    there = {**exposed(), **OTHERS}

    asked = selectors(expression)
    labels = [there[one.name] | TARGET for one in asked]
    grouped = {
        label
        for one in nodes(parsed(expression))
        for label in getattr(getattr(one, 'modifier', None), 'labels', None) or ()
    }

    assert asked
    for one, known in zip(asked, labels, strict=True):
        assert {matcher.name for matcher in one.matchers.matchers} <= known
    assert grouped <= set.union(*labels)


def test_dashboard_shows_each_metric_of_the_worker():
    """No metric of the worker is missing on the dashboard."""
    asked = {one.name for _, expression in QUERIES for one in selectors(expression)}
    families = {re.sub('_(bucket|sum|count)$', '', name) for name in exposed()}

    assert families <= {re.sub('_(bucket|sum|count)$', '', name) for name in asked}


def test_manual_lists_each_metric():
    """The table of the manual names all metrics; that of the alerts is generated."""
    manual = MANUAL.read_text()
    families = {re.sub('_(bucket|sum|count)$', '', name) for name in exposed()}

    assert [name for name in families if f'``{name}``' not in manual] == []


def test_ids_of_panels_and_of_the_queries_of_a_panel_are_unique():
    """Each panel has a unique id, and the queries of a panel are named A, B, ..."""
    ids = [panel['id'] for panel in PANELS]

    assert len(ids) == len(set(ids))
    for panel in PANELS:
        targets = panel.get('targets', [])
        assert [target['refId'] for target in targets] == list('ABCDEFGH'[: len(targets)])
        assert (panel['type'] == 'row') == (targets == [])


def test_variables_of_queries_are_defined_on_the_dashboard():
    """No query uses an undefined variable."""
    used = {name for _, expression in QUERIES for name in re.findall(r'\$\{?(\w+)', expression)}

    assert used - {'__rate_interval'} <= {
        variable['name'] for variable in DASHBOARD['templating']['list']
    }


def test_alert_for_missing_consumers_ignores_the_queue_of_parked_requests():
    """The alert covers the queues that workers consume.

    tests/promtool/alerts.yaml tests the texts and the times of all rules.
    """
    (rule,) = (rule for rule in RULES if rule['alert'] == 'PlacementWorkerQueueWithoutConsumers')
    waiting, consumers = selectors(rule['expr'])

    (matcher,) = waiting.matchers.matchers
    assert rule['labels']['severity'] == 'critical'
    assert (waiting.name, consumers.name) == tuple(OTHERS)[1:]
    for queue, alerted in {
        'placement-worker': True,
        'placement-worker-slow': True,
        'placement-worker-suspects': True,
        'placement-worker-parked': False,
        'placement-worker.host': False,
    }.items():
        assert bool(re.fullmatch(matcher.value, queue)) == alerted


def test_alert_rules_have_unique_names_and_descriptions():
    """Each rule has a unique name, a summary, a description of what to do, and a runbook."""
    assert len(ALERTS) == len(set(ALERTS))
    assert all(
        set(rule['annotations']) == {'summary', 'description', 'runbook_url'} for rule in RULES
    )


def test_runbook_url_of_each_alert_is_the_section_of_its_name():
    """After its general sections, the runbook has one per alert; links are in lower case."""
    lines = RUNBOOK.read_text().splitlines()
    titles = [title for title, line in itertools.pairwise(lines) if title and set(line) == {'='}]

    assert titles[1] == 'Which alerts can wait'
    assert sorted(titles[-len(ALERTS) :]) == sorted(ALERTS)
    for rule in RULES:
        page, _, anchor = rule['annotations']['runbook_url'].partition('#')
        assert page == 'https://docs.example.org/placement-worker/runbook.html'
        assert anchor == rule['alert'].lower()


def test_runbook_gives_the_urgency_of_each_alert_once():
    """The first row of the table has the critical alerts, and the other rows the warnings."""
    page = RUNBOOK.read_text()
    table = page[page.index('.. _alerts-at-night:') : page.index('\nBefore you start\n')]
    rows = [re.findall(r'<alert-(\w+)>', row) for row in table.split('   * - ')[2:]]

    assert sorted(rows[0]) == sorted(
        rule['alert'] for rule in RULES if rule['labels']['severity'] == 'critical'
    )
    assert sorted(itertools.chain(*rows)) == sorted(ALERTS)


def test_alert_rules_installed_as_in_the_manual_link_to_its_address():
    """Operators set the address of their manual in one place, and nothing else changes."""
    (command,) = re.findall(r'^ +(sed .*) > /etc/prometheus/', MANUAL.read_text(), re.MULTILINE)

    printed = subprocess.run(
        shlex.split(command), cwd=CONF.parent, check=True, capture_output=True, text=True
    ).stdout

    groups = yaml.safe_load(printed)['groups']
    links = [rule['annotations']['runbook_url'] for group in groups for rule in group['rules']]
    before = (CONF / 'prometheus-alerts.yaml').read_text()
    host, address = 'docs.example.org/placement-worker', 'docs.cloud.internal/manual'
    assert links == [f'https://{address}/runbook.html#{rule["alert"].lower()}' for rule in RULES]
    assert printed == before.replace(host, address)


def test_alerts_about_a_share_of_the_requests_need_ten_of_them():
    """No alert about a ratio or a quantile is raised by a handful of requests."""
    shares = [
        rule for rule in RULES if '/ sum' in rule['expr'] or 'histogram_quantile' in rule['expr']
    ]

    assert len(shares) == 3
    for rule in shares:
        combined = parsed(rule['expr'])
        assert str(combined.op) == 'and'
        assert (str(combined.rhs.op), combined.rhs.rhs.val) == ('>=', 10)


def test_panels_of_the_runbook_are_on_the_dashboard():
    """An operator finds each panel that the runbook names, by its exact title."""
    titles = re.findall(r'(?<!\*)\*([^*\s][^*]*)\*', RUNBOOK.read_text())
    named = {' '.join(title.split()) for title in titles}

    assert named
    assert named - {panel['title'] for panel in PANELS} == set()


def test_commands_in_texts_of_runbook_and_alerts_name_the_file_that_they_read():
    """A person who copies a command at night gets its result, and no error of its usage."""
    files = RUNBOOK, CONF / 'prometheus-alerts.yaml'
    texts = ' '.join(' '.join(file.read_text().split()) for file in files)
    found = re.findall(r'placement-worker-status (?:liveness|readiness)(.{9})', texts)

    assert set(found) == {' --file /'}


def test_command_for_use_without_the_dashboard_shows_the_metrics_of_its_panels():
    """An operator with a shell alone sees what the requests in flight wait for."""
    (pattern,) = re.findall(r"/metrics \| grep -E '(.*)'", RUNBOOK.read_text())

    lines = generate_latest(filled()).decode().splitlines()

    shown = {re.split('[{ ]', line)[0] for line in lines if re.search(pattern, line)}
    prefix = 'placement_worker_'
    assert shown - {'#'} == {
        f'{prefix}requests_in_work',
        *(f'{prefix}{name}_{end}' for end in ('sum', 'count') for name in (
            'policy_duration_seconds', 'cloud_call_duration_seconds',
            'load_balancer_conflict_wait_seconds',
        )),
    }  # fmt: skip


@pytest.mark.parametrize('event', [check(status='ERROR', reason='no'), binding('ERROR')])
def test_pattern_for_failed_checks_matches_their_lines_in_the_log(caplog, event):
    """After an outage, an operator finds all failed checks and attachments by one command."""
    (pattern,) = re.findall(r'--output cat --grep "(.*)"', RUNBOOK.read_text())

    RequestLog(lambda: datetime.datetime.now(datetime.UTC)).handle(event)

    assert [re.search(pattern, line) is not None for line in caplog.messages] == [True]
