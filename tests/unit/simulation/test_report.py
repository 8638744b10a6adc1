"""The report and the picture of a run, and the page of the manual about simulations."""

import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from placement_worker.policies.registry import Registry
from placement_worker.simulation import report
from placement_worker.simulation.scenario import VERBS, shipped_scenarios
from tests.factories import region_policy, spreading, zone_policy
from tests.scenarios import load_scenario
from tests.unit.simulation.conftest import played

EVIL = '<script>alert("1")</script>'
VOID = {'meta', 'link', 'rect', 'path', 'line'}
DOC = Path(__file__).parents[3] / 'doc' / 'source'
TEXT = (DOC / 'simulate.rst').read_text()


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


@cache
def shipped(name):
    """Return a shipped scenario and its history, compared with the greedy rule."""
    return load_scenario(name), played(name, Registry.installed())


def page_of(scenario, **options):
    return report.page(scenario, played(scenario, Registry.installed(), **options))


@pytest.fixture(scope='module', params=shipped_scenarios())
def page(request):
    return report.page(*shipped(request.param))


def test_page_is_well_formed_and_its_references_resolve(page):
    """Elements are closed in order, ids are unique, and each reference has a target."""
    attributes = [attributes for _, attributes in Elements(page).found]
    ids = [element['id'] for element in attributes if 'id' in element]
    references = [
        name
        for element in attributes
        for key in ('aria-labelledby', 'aria-describedby', 'for')
        for name in element.get(key, '').split()
    ]
    references += [
        element['href'][1:] for element in attributes if element.get('href', '').startswith('#')
    ]

    assert len(ids) == len(set(ids))
    assert set(references) <= set(ids)


def test_page_has_no_external_resource(page):
    """The page works offline, and its policy forbids external resources."""
    attributes = [attributes for _, attributes in Elements(page).found]
    keys = ('src', 'href', 'action', 'data', 'srcset')
    addresses = [element[key] for element in attributes for key in keys if key in element]

    assert [address for address in addresses if not address.startswith(('#', 'data:,'))] == []
    assert re.findall(r'url\((?!#)|@import|https?:', page) == []
    (policy,) = [
        element['content']
        for element in attributes
        if element.get('http-equiv') == 'Content-Security-Policy'
    ]
    assert policy.startswith("default-src 'none';")


def test_page_explains_each_step_and_describes_each_chart(page):
    """Each step has an explanation and a row of numbers, each chart a title and a description."""
    found = Elements(page).found
    details = [a['id'] for tag, a in found if tag == 'details' and 'id' in a]
    charts = [a for tag, a in found if tag == 'svg' and 'data-columns' in a]

    assert details == [f'step-{number}' for number in range(1, len(details) + 1)]
    assert len(details) >= 12
    assert len(re.findall(r'<th scope="row">', page)) >= len(details)
    assert len(charts) > 4
    for chart in charts:
        assert chart['role'] == 'img'
        title, description = chart['aria-labelledby'].split()
        assert re.search(rf'<title id="{title}">[^<]+</title>', page)
        assert re.search(rf'<desc id="{description}">[^<]+</desc>', page)


def test_page_without_comparison_does_not_mention_the_greedy_rule():
    """The page mentions the greedy rule only in a comparison."""
    page = page_of(load_scenario('zone-outage'), compared=False)

    assert 'greedy' not in page
    assert page.count('<figure>') == 3


def test_page_and_picture_with_markup_in_names_escape_it(load, registry, balanced):
    """Names that look like markup stay text."""
    balancing = {**balanced['policies'][2], 'name': EVIL}
    policies = [{**zone_policy('a', EVIL), 'name': EVIL}, balancing]
    cloud = {**balanced['cloud'], 'zones': {'a': True, EVIL: True}}
    steps = [{'scale_out': 3, 'note': EVIL}, {'lose_zone': EVIL}]
    scenario = load(steps, policies, cloud=cloud, title=EVIL, description=EVIL)

    page = page_of(scenario)

    assert 'alert' in page
    assert EVIL not in page
    assert [tag for tag, _ in Elements(page).found].count('script') == 2
    assert '<script' not in report.picture(scenario, played(scenario, registry))


def test_page_of_a_long_run_names_the_omitted_steps(load):
    """The page of a long run names the steps that it draws and explains."""
    scenario = load([{'repeat': 700, 'steps': [{'scale_out': 1}, {'scale_in': 1}]}])

    page = page_of(scenario, explained=5)

    assert 'The first 5 of 1,400 steps are explained.' in page
    assert 'Of this long run, one step in 4 is drawn, and the worst one.' in page
    assert re.search(r'<details class="rows">\n<summary>\d+ rows, one step in 4</summary>', page)
    assert len(page) < 500_000


CAPPED = region_policy('R1')
CAPPED['spec']['properties']['regions'][0]['cap'] = 0


@pytest.mark.parametrize(
    ('scenario', 'texts'),
    [
        ('zone-outage',
         ['<p class="verdict">Compared with Senlin&#39;s greedy rule: 0.09 fewer nodes ',
          '<dd>3.56 <small>greedy 3.65</small></dd>',
          'Worst: 12 nodes off at step 11; even again at step 15.</p>',
          'greedy rule:</b> worst: 12 nodes off at step 11; even again at step 15.</p>']),
        ({'steps': [{'scale_out': 1, 'expect': 'ERROR'}]},
         ['<p class="bad">1 of 1 steps did not end as the scenario expects.</p>']),
        ('load-balancer',
         ['<th scope="col" class="n">Members</th><th scope="col" class="n">Updates</th>',
          '<td class="n">18 | 18</td><td class="n">2 | 2</td></tr>',
          '<h3>CLUSTER_SCALE_OUT, after the action: <span class="good">OK</span></h3>',
          '<p>Added: n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12</p>',
          '<p>API calls: ', '3 deleted after a grace period of 30 s.', '<dt>Grace period</dt>',
          'balance has 18 members.',
          'CLUSTER_SCALE_OUT: OK, Completed policy checking; CLUSTER_SCALE_OUT: OK']),
        ('zone-shortage',
         ['outage: az2 (no capacity) (steps 2 to 7)',
          '<dt>Failed for lack of capacity</dt><dd>2 <small>greedy 5</small></dd>',
          '2 created. 1 failed for lack of capacity.',
          'short of capacity until 2026-01-01T00:06:00Z']),
        ({'steps': [{'scale_out': 3, 'expect': 'ERROR'}], 'policies': [CAPPED],
          'cloud': {'regions': ['R1']}},
         ['<p>Asked: 3</p>', '<p>Possible: 0</p>']),
        ({'steps': [{'lose_zone': 'b'}, {'scale_out': 6}],
          'policies': [spreading(zone_policy('a', 'b', 'c'))]},
         ['<p><b>Warning:</b> Zone b would hold 0 nodes, ideal 2.0, allowed skew 1: '
          'zone b is unavailable</p>']),
        ({'steps': [{'scale_out': 3}, {'protect': {'count': 2, 'reason': 'batch job'}},
                    {'resize': 0}]},
         ['3 nodes, 2 protected, gap', '2 nodes are protected (batch job)',
          '<caption>Protected nodes</caption>']),
    ],
    ids=['verdict', 'unexpected', 'load balancer', 'shortage', 'infeasible', 'skewed', 'protected'],
)  # fmt: skip
def test_page_explains_what_happened_in_each_step(load, scenario, texts):
    """The numbers and the decisions include all that the policies did and why."""
    named = isinstance(scenario, str)
    page = report.page(*shipped(scenario)) if named else page_of(load(**scenario))

    assert [text for text in texts if text not in page] == []
    assert '.;' not in page


@pytest.mark.parametrize('name', shipped_scenarios())
def test_manual_shows_each_shipped_scenario_and_its_picture(name):
    """Each picture in the manual is the output of `simulate NAME --compare greedy --plot FILE`."""
    picture = (DOC / 'images' / f'{name}.svg').read_text(encoding='utf-8')

    assert f'``{name}``' in TEXT
    assert f'.. image:: images/{name}.svg' in TEXT
    assert len(picture) < 200_000
    assert picture == report.picture(*shipped(name))


def test_picture_is_well_formed_and_needs_neither_a_browser_nor_a_network():
    """The picture is valid XML, names its charts and places, and has no variable or address."""
    picture = (DOC / 'images' / 'zone-outage.svg').read_text(encoding='utf-8')

    root = ElementTree.fromstring(picture)  # noqa: S314

    texts = [text.text for text in root.iter('{http://www.w3.org/2000/svg}text')]
    assert texts[0] == load_scenario('zone-outage').title
    assert {'Nodes by place: placement-worker', 'Nodes off their ideal', 'az1'} <= set(texts)
    assert not re.search(r'var\(|href', picture)
    assert picture.count('http') == 1


def test_manual_describes_each_kind_of_step():
    """The manual describes each kind of step."""
    assert [verb for verb in VERBS if f'``{verb}: ' not in TEXT] == []


def test_table_in_the_manual_is_the_printed_table(program):
    """The table in the manual is the output of the command."""
    shown = re.search(r'    Step 6: .*?\n\n', TEXT, re.DOTALL).group()

    _, out, _ = program('simulate', 'zone-outage')

    assert '\n'.join(line.removeprefix('    ') for line in shown.splitlines()).rstrip() in out


def test_scenario_in_the_manual_ends_as_it_expects(program):
    """The scenario in the manual is valid and ends as it expects."""
    text = re.search(r'(    title: Two zones.*?max_nodes: 1000\n)', TEXT, re.DOTALL).group()

    status, _, err = program('simulate', 's', s=json.dumps(yaml.safe_load(text)))

    assert (status, err) == (0, '')
