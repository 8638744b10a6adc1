"""What the manual says of simulations is so."""

import json
import re
from pathlib import Path

import pytest
import yaml

from placement_worker.simulation import plot
from placement_worker.simulation import scenario as scenarios
from placement_worker.simulation.scenario import VERBS
from tests.unit.simulation.conftest import played

DOC = Path(__file__).parents[3] / 'doc' / 'source'
TEXT = (DOC / 'simulate.rst').read_text()


def test_every_shipped_scenario_has_its_picture_and_its_name_in_the_manual():
    for name in scenarios.shipped():
        assert f'``{name}``' in TEXT
        assert f'.. image:: images/{name}.svg' in TEXT
        assert (DOC / 'images' / f'{name}.svg').stat().st_size < 200_000


@pytest.mark.parametrize('name', scenarios.shipped())
def test_picture_in_the_manual_is_what_simulate_plots(registry, name):
    """Each picture in the manual is the output of `simulate NAME --compare greedy --plot FILE`."""
    scenario = scenarios.load(name)

    picture = (DOC / 'images' / f'{name}.svg').read_text(encoding='utf-8')

    assert picture == plot.svg(scenario, played(scenario, registry))


def test_every_kind_of_step_is_in_the_manual():
    assert [verb for verb in VERBS if f'``{verb}: ' not in TEXT] == []


def test_the_table_in_the_manual_is_what_is_printed(program):
    shown = re.search(r'    Step 6: .*?\n\n', TEXT, re.DOTALL).group()

    _, out, _ = program('simulate', 'zone-outage')

    assert '\n'.join(line.removeprefix('    ') for line in shown.splitlines()).rstrip() in out


def test_the_scenario_in_the_manual_ends_as_it_says(program):
    text = re.search(r'(    title: Two zones.*?max_nodes: 1000\n)', TEXT, re.DOTALL).group()

    status, _, err = program('simulate', 's', s=json.dumps(yaml.safe_load(text)))

    assert (status, err) == (0, '')
