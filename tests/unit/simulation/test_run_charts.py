"""The charts of a run."""

import pytest

from placement_worker.simulation import run_charts, scenario_files
from placement_worker.simulation.run_charts import charts, grouped
from tests.factories import deletion_policy, zone_policy
from tests.unit.simulation.conftest import played


@pytest.fixture
def lost(registry):
    """Return the history of a run in which a zone is lost, compared with the greedy rule."""
    return played(scenario_files.load('zone-outage'), registry)


def wide(load, count, steps):
    """Return a scenario over many zones."""
    names = [f'z{number}' for number in range(count)]
    return load(steps, [zone_policy(*names)], cloud={'zones': dict.fromkeys(names, True)})


@pytest.mark.parametrize(('compared', 'count'), [(True, 4), (False, 3)])
def test_charts_of_a_comparison_have_one_more_chart(registry, compared, count):
    """A comparison adds a chart of the nodes under the other rule."""
    history = played(scenario_files.load('zone-outage'), registry, compared=compared)

    assert len(charts(history)) == count


def test_charts_without_a_placement_policy_show_only_the_nodes(load, registry):
    """Without ideals there is no chart of deviations."""
    history = played(load([{'scale_out': 3}], [deletion_policy()]), registry, compared=False)

    assert [chart.heading for chart in charts(history)] == ['Nodes by place']


def test_legend_of_the_first_chart_names_places_outages_and_flags(lost):
    """The first chart explains each place, each outage and each flag."""
    assert charts(lost)[0].legend == [
        ('c1', 'az1'),
        ('c2', 'az2'),
        ('c3', 'az3'),
        ('outage', 'outage: az2 (steps 5 to 10)'),
        ('flag', 'step 3: 1 node fails'),
        ('flag', 'step 5: zone az2 is lost'),
        ('flag', 'step 7: 10 nodes fail in az2'),
        ('flag', 'step 11: zone az2 is back'),
    ]


def test_legend_of_each_chart_explains_the_shading(lost):
    """No chart has a shading without a legend."""
    assert all(('outage', 'outage: az2 (steps 5 to 10)') in one.legend for one in charts(lost))


def test_legend_names_each_cordon_with_its_period(registry):
    """The shading of a cordon is explained apart from that of an outage."""
    history = played(scenario_files.load('zone-cordon'), registry, compared=False)

    assert [text for look, text in charts(history)[0].legend if look == 'outage'] == [
        'cordon: zone az2 (steps 2 to 10), zone az3 (steps 13 to 14)'
    ]


def test_legend_names_outages_and_cordons_of_one_run(load, registry):
    """A run with both has a line for each in the legend."""
    steps = [{'lose_zone': 'a'}, {'cordon': {'zone': 'b', 'minutes': 5}}, {'restore_zone': 'a'}]
    turn = [{'lose_zone': 'a'}, {'restore_zone': 'a'}]

    history = played(load([*steps, {'repeat': 3, 'steps': turn}]), registry, compared=False)

    assert [text for look, text in charts(history)[0].legend if look == 'outage'] == [
        'outage: a (steps 1 to 2), a (step 4)',
        'cordon: zone b (steps 2 to 6) and 2 more',
    ]


def test_legend_explains_crosses_where_a_check_failed(registry):
    """The legend explains the crosses of a chart that has some."""
    history = played(scenario_files.load('capped-regions'), registry)

    nodes, greedy, *others = charts(history)

    assert nodes.panels[0].crosses == [10, 12]
    assert all('cross' in dict(one.legend) for one in (nodes, greedy))
    assert not any('cross' in dict(one.legend) for one in others)


def test_legend_of_many_outages_and_flags_counts_the_rest(load, registry):
    """A legend names the first outages and flags, and the number of the others."""
    turn = [{'lose_zone': 'a'}, {'restore_zone': 'a'}]

    def legend(turns):
        scenario = load([{'scale_out': 3}, {'repeat': turns, 'steps': turn}])
        return charts(played(scenario, registry, compared=False))[0].legend[3:]

    shading, *flags = legend(15)
    assert shading[1] == 'outage: a (step 2), a (step 4), a (step 6) and 12 more'
    assert (flags[0], flags[-1]) == (('flag', 'step 2: zone a is lost'), ('flag', 'and 10 more'))
    assert len(flags) == run_charts.FLAGS_NAMED + 1
    assert legend(50)[1:] == [('', 'not flagged: 100 changes of the cloud or a policy')]


def test_deviations_have_a_panel_per_place_with_a_line_per_rule(lost):
    """Each place has a panel of its own; all panels have the same scale."""
    panels = charts(lost)[-1].panels

    assert [panel.title for panel in panels] == ['az1', 'az2', 'az3']
    assert all(panel.scale == panels[0].scale for panel in panels)
    assert [[line.look for line in panel.lines] for panel in panels] == [['l1', 'l2']] * 3


def test_deviations_of_many_places_show_those_that_deviate_most(load, registry):
    """Of many places those with the greatest deviation have a panel, and the text says so."""
    scenario = wide(load, 20, [{'scale_out': 40}, {'lose_zone': 'z19'}])

    chart = charts(played(scenario, registry, compared=False))[-1]

    assert (len(chart.panels), chart.panels[-1].title) == (12, 'z19')
    assert chart.about.endswith('These 12 of 20 places deviate most.')


def test_load_balancers_have_panels_of_members_updates_and_grace_periods(registry):
    """A run with a load balancer shows its members beside the healthy nodes, and its updates."""
    history = played(scenario_files.load('load-balancer'), registry)

    chart = charts(history)[-1]

    members, updates, grace = chart.panels
    assert [panel.title for panel in chart.panels] == [
        'Members of balance',
        'Updates per step',
        'Grace period in seconds',
    ]
    assert [(line.name, line.values[6]) for line in members.lines] == [
        ('members', 18),
        ('healthy nodes', 10),
    ]
    assert (updates.areas[0].values[7], grace.areas[0].values[7]) == (2, 30)


def test_panels_describe_their_values_in_words(lost):
    """The description of a panel has its values."""
    nodes, _, misplaced, deviations = charts(lost)

    assert nodes.panels[0].described.endswith(
        'After the last step 30 nodes: az1 10, az2 10, az3 10'
    )
    assert 'placement-worker between 0.0 and 12.0' in misplaced.panels[0].described
    described = deviations.panels[1].described
    assert described.startswith(
        'Deviation of az2 in nodes: placement-worker between -12.0 and 10.0'
    )


def test_values_of_all_charts_are_within_their_scales(lost):
    """No scale cuts off a value."""
    for chart in charts(lost):
        for panel in chart.panels:
            areas = [one.values for one in panel.areas]
            stacked = [sum(values) for values in zip(*areas, strict=True)]
            values = [*stacked, *(value for line in panel.lines for value in line.values)]
            assert panel.scale.ticks[0] <= min(values) <= max(values) <= panel.scale.ticks[-1]


@pytest.mark.parametrize(('count', 'groups'), [(8, 8), (9, 8), (20, 8)])
def test_grouped_with_more_names_than_colors_joins_the_rest(count, groups):
    """There are at most eight colors, and no place is lost."""
    names = [str(number) for number in range(count)]

    found = grouped(names)

    assert len(found) == groups
    assert [name for members in found.values() for name in members] == names
