"""The picture of a run."""

from xml.etree import ElementTree

from placement_worker.simulation import plot, scenario_files
from tests.factories import zone_policy
from tests.unit.simulation.conftest import played

EVIL = '<script>alert("1")</script>'


def test_svg_of_the_same_scenario_is_the_same(registry):
    """Two runs of a scenario give the same picture, to the byte."""
    scenario = scenario_files.load('zone-outage')

    first, second = (plot.svg(scenario, played(scenario, registry)) for _ in range(2))

    assert first == second


def test_svg_is_well_formed_and_has_each_chart_and_each_place(registry):
    """The picture is valid XML and names the title, the charts and the places as text."""
    scenario = scenario_files.load('zone-outage')

    root = ElementTree.fromstring(plot.svg(scenario, played(scenario, registry)))  # noqa: S314

    texts = [text.text for text in root.iter('{http://www.w3.org/2000/svg}text')]
    assert texts[0] == scenario.title
    assert {'Nodes by place: placement-worker', 'Nodes off their ideal', 'az1'} <= set(texts)


def test_svg_has_no_css_variable_and_no_address(registry):
    """The picture needs neither a browser nor a network."""
    scenario = scenario_files.load('zone-outage')

    drawn = plot.svg(scenario, played(scenario, registry))

    assert 'var(' not in drawn
    assert 'href' not in drawn
    assert drawn.count('http') == 1


def test_svg_with_markup_in_names_keeps_it_text(load, registry):
    """A title or a place that looks like markup stays text."""
    policies = [zone_policy('a', EVIL)]
    cloud = {'zones': {'a': True, EVIL: True}}
    scenario = load([{'scale_out': 3}, {'lose_zone': EVIL}], policies, cloud=cloud, title=EVIL)

    assert '<script' not in plot.svg(scenario, played(scenario, registry))
