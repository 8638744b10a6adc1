"""The HTML report of a run."""

import re
from html.parser import HTMLParser

import pytest

from placement_worker.simulation import report, scenario_files
from tests.factories import region_policy, spreading, zone_policy
from tests.unit.simulation.conftest import played

EVIL = '<script>alert("1")</script>'
VOID = {'meta', 'link', 'rect', 'path', 'line'}


class Elements(HTMLParser):
    """All elements with their attributes; sees to it that each is closed in its order."""

    def __init__(self, text):
        super().__init__()
        self.found, self._open = [], []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


@pytest.fixture(params=sorted(scenario_files.shipped()))
def page(request, registry):
    scenario = scenario_files.load(request.param)
    return report.page(scenario, played(scenario, registry))


def test_page_is_well_formed_and_its_references_resolve(page):
    """Elements are closed in order, ids are unique, and each reference has a target."""
    elements = Elements(page).found
    ids = [attributes['id'] for _, attributes in elements if 'id' in attributes]
    references = [
        name
        for _, attributes in elements
        for key in ('aria-labelledby', 'aria-describedby', 'for')
        for name in attributes.get(key, '').split()
    ]
    references += [a['href'][1:] for _, a in elements if a.get('href', '').startswith('#')]

    assert len(ids) == len(set(ids))
    assert set(references) <= set(ids)


def test_page_has_no_external_resource(page):
    """The page works offline, and its policy forbids external resources."""
    elements = Elements(page).found
    addresses = [
        a[key]
        for _, a in elements
        for key in ('src', 'href', 'action', 'data', 'srcset')
        if key in a
    ]

    assert [address for address in addresses if not address.startswith(('#', 'data:,'))] == []
    assert re.findall(r'url\((?!#)|@import|https?:', page) == []
    (policy,) = [
        a['content'] for tag, a in elements if a.get('http-equiv') == 'Content-Security-Policy'
    ]
    assert policy.startswith("default-src 'none';")


def test_page_explains_each_step_and_lists_its_numbers(page):
    """Each step has an explanation and a row of numbers."""
    elements = Elements(page).found
    details = [a['id'] for tag, a in elements if tag == 'details' and 'id' in a]

    assert details == [f'step-{number}' for number in range(1, len(details) + 1)]
    assert len(details) >= 12
    assert len(re.findall(r'<th scope="row">', page)) >= len(details)


def test_page_charts_have_title_and_description(page):
    """Each panel of a chart has a title and a description."""
    charts = [a for tag, a in Elements(page).found if tag == 'svg' and 'data-columns' in a]

    assert len(charts) > 4
    for chart in charts:
        assert chart['role'] == 'img'
        title, description = chart['aria-labelledby'].split()
        assert re.search(rf'<title id="{title}">[^<]+</title>', page)
        assert re.search(rf'<desc id="{description}">[^<]+</desc>', page)


def test_page_begins_with_the_verdict(registry):
    """The verdict on both rules is above the facts and the charts."""
    scenario = scenario_files.load('zone-outage')

    page = report.page(scenario, played(scenario, registry))

    verdict = '<p class="verdict">Worst: 12 nodes off at step 11; even again at step 15.</p>'
    assert page.index(verdict) < page.index('<dl class="facts">')
    assert 'greedy rule:</b> worst: 12 nodes off at step 11; even again at step 15.</p>' in page


def test_page_of_a_load_balancer_has_members_updates_and_grace_periods(registry):
    """The numbers, the decisions and the terms include the load balancer."""
    scenario = scenario_files.load('load-balancer')

    page = report.page(scenario, played(scenario, registry))

    assert '<th scope="col" class="n">Members</th><th scope="col" class="n">Updates</th>' in page
    assert '<td class="n">18 | 18</td><td class="n">2 | 2</td></tr>' in page
    assert '<h3>CLUSTER_SCALE_OUT, after the action: <span class="good">OK</span></h3>' in page
    assert '<p>Added: n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12</p>' in page
    assert '<p>API calls: ' in page
    assert '3 deleted after a grace period of 30 s.' in page
    assert '<dt>Grace period</dt>' in page
    assert 'balance has 18 members.' in page


def test_page_joins_the_checks_of_the_greedy_rule_in_one_sentence(registry):
    """The checks of the greedy rule are separated by semicolons, without full stops in between."""
    scenario = scenario_files.load('load-balancer')

    text = report.page(scenario, played(scenario, registry))

    assert 'CLUSTER_SCALE_OUT: OK, Completed policy checking; CLUSTER_SCALE_OUT: OK' in text
    assert '.;' not in text


def test_page_of_an_unexpected_outcome_says_so_at_the_top(load, registry):
    """Steps that did not end as expected are announced above the charts."""
    scenario = load([{'scale_out': 1, 'expect': 'ERROR'}])

    page = report.page(scenario, played(scenario, registry))

    sentence = '<p class="bad">1 of 1 steps did not end as the scenario expects.</p>'
    assert page.index(sentence) < page.index('<dl class="facts">')


def test_page_of_the_same_scenario_is_the_same(registry):
    """Two runs of a scenario give the same page, to the byte."""
    scenario = scenario_files.load('zone-outage')

    assert report.page(scenario, played(scenario, registry)) == report.page(
        scenario, played(scenario, registry)
    )


def test_page_without_comparison_does_not_mention_the_greedy_rule(registry):
    """The page mentions the greedy rule only in a comparison."""
    scenario = scenario_files.load('zone-outage')

    page = report.page(scenario, played(scenario, registry, compared=False))

    assert 'greedy' not in page
    assert page.count('<figure>') == 3


def test_page_with_markup_in_names_escapes_it(load, registry, balanced):
    """Names that look like markup stay text."""
    balancing = {**balanced['policies'][2], 'name': EVIL}
    policies = [{**zone_policy('a', EVIL), 'name': EVIL}, balancing]
    cloud = {**balanced['cloud'], 'zones': {'a': True, EVIL: True}}
    steps = [{'scale_out': 3, 'note': EVIL}, {'lose_zone': EVIL}]
    scenario = load(steps, policies, cloud=cloud, title=EVIL, description=EVIL)

    page = report.page(scenario, played(scenario, registry))

    assert 'alert' in page
    assert EVIL not in page
    assert [tag for tag, _ in Elements(page).found].count('script') == 2


def test_page_of_an_infeasible_step_shows_that_no_node_was_possible(load, registry):
    """The page says how many nodes were asked for and how many are possible, even if none is."""
    policy = region_policy('R1')
    policy['spec']['properties']['regions'][0]['cap'] = 0
    scenario = load([{'scale_out': 3, 'expect': 'ERROR'}], [policy], cloud={'regions': ['R1']})

    page = report.page(scenario, played(scenario, registry))

    assert '<p>Asked: 3</p>' in page
    assert '<p>Possible: 0</p>' in page


def test_page_of_a_long_run_names_the_omitted_steps(load, registry):
    """The page of a long run names the steps that it draws and explains."""
    scenario = load([{'repeat': 700, 'steps': [{'scale_out': 1}, {'scale_in': 1}]}])

    page = report.page(scenario, played(scenario, registry, explained=5))

    assert 'The first 5 of 1,400 steps are explained.' in page
    assert 'Of this long run, one step in 4 is drawn, and the worst one.' in page
    assert re.search(r'<details class="rows">\n<summary>\d+ rows, one step in 4</summary>', page)
    assert len(page) < 500_000


def test_page_of_10000_steps_has_a_bounded_size(load, registry):
    """The page of ten thousand steps with an outage each fits into two megabytes."""
    turn = [{'scale_out': 3}, {'lose_zone': 'a'}, {'scale_in': 3}, {'restore_zone': 'a'}]
    scenario = load([{'repeat': 2500, 'steps': turn}])

    page = report.page(scenario, played(scenario, registry, compared=False, explained=0))

    assert len(page) < 2_000_000


def test_page_with_more_places_than_colors_groups_the_rest(load, registry):
    """Places beyond the number of colors share the last color."""
    names = [f'z{number}' for number in range(12)]
    scenario = load(
        [{'scale_out': 30}], [zone_policy(*names)], cloud={'zones': dict.fromkeys(names, True)}
    )

    page = report.page(scenario, played(scenario, registry))

    assert re.findall(r'</svg>(\w+)</li>', page)[:8] == [*names[:7], 'others']


def test_page_of_a_skewed_plan_has_its_warning(load, registry):
    """The explanation of a step has the warnings of its check."""
    steps = [{'lose_zone': 'b'}, {'scale_out': 6}]
    scenario = load(steps, [spreading(zone_policy('a', 'b', 'c'))])

    page = report.page(scenario, played(scenario, registry))

    assert (
        '<p><b>Warning:</b> Zone b would hold 0 nodes, ideal 2.0, allowed skew 1: '
        'zone b is unavailable</p>'
    ) in page


def test_page_of_protected_nodes_has_their_number_and_end(load, registry):
    """The page says how many nodes are protected after a step, and why some are spared."""
    steps = [{'scale_out': 3}, {'protect': {'count': 2, 'reason': 'batch job'}}, {'resize': 0}]

    scenario = load(steps)
    page = report.page(scenario, played(scenario, registry))

    assert '3 nodes, 2 protected, skew' in page
    assert '2 nodes are protected (batch job)' in page
    assert '<caption>Protected nodes</caption>' in page


def test_report_of_a_shortage_shades_it_and_counts_the_failed_nodes(registry):
    """The report has the period without capacity, and the failed nodes in total and per step."""
    scenario = scenario_files.load('zone-shortage')

    html = report.page(scenario, played(scenario, registry))

    assert 'outage: az2 (no capacity) (steps 2 to 7)' in html
    assert '<dt>Failed for lack of capacity</dt><dd>2 <small>greedy 5</small></dd>' in html
    assert '2 created. 1 failed for lack of capacity.' in html
    assert 'short of capacity until 2026-01-01T00:06:00Z' in html
