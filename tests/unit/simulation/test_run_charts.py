"""The charts of a run."""

import pytest

from placement_worker.simulation import scenario_files
from placement_worker.simulation.run_charts import charts
from tests.factories import zone_policy
from tests.unit.simulation.conftest import played


@pytest.mark.parametrize(('compared', 'count'), [(True, 4), (False, 3)])
def test_charts_of_a_comparison_have_one_more_chart(registry, compared, count):
    """A comparison adds a chart of the nodes under the other rule."""
    history = played(scenario_files.load('zone-outage'), registry, compared=compared)

    assert len(charts(history)) == count


def test_charts_name_each_place_in_the_legend(registry):
    """The legend maps each swatch to its place."""
    history = played(scenario_files.load('zone-outage'), registry)

    assert charts(history)[0].legend == {'c1': 'az1', 'c2': 'az2', 'c3': 'az3'}


def test_charts_of_many_places_omit_the_deviations(load, registry):
    """Deviations are drawn only if each place has a color of its own."""
    names = [f'z{number}' for number in range(9)]
    cloud = {'zones': dict.fromkeys(names, True)}
    scenario = load([{'scale_out': 9}], [zone_policy(*names)], cloud=cloud)

    headings = [chart.heading for chart in charts(played(scenario, registry, compared=False))]

    assert headings == ['Nodes by place', 'Nodes off their ideal']
