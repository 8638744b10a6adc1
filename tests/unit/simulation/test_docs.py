"""The page of the manual about simulations."""

import json
import re
from pathlib import Path

import pytest
import yaml

from placement_worker.simulation import plot, scenario_files
from placement_worker.simulation.scenario import VERBS
from tests.unit.simulation.conftest import played

DOC = Path(__file__).parents[3] / 'doc' / 'source'
TEXT = (DOC / 'simulate.rst').read_text()


def test_manual_names_each_shipped_scenario_and_shows_its_picture():
    """The manual names each shipped scenario and includes its picture."""
    for name in scenario_files.shipped():
        assert f'``{name}``' in TEXT
        assert f'.. image:: images/{name}.svg' in TEXT
        assert (DOC / 'images' / f'{name}.svg').stat().st_size < 200_000


@pytest.mark.parametrize('name', scenario_files.shipped())
def test_picture_in_the_manual_is_what_simulate_plots(registry, name):
    """Each picture in the manual is the output of `simulate NAME --compare greedy --plot FILE`."""
    scenario = scenario_files.load(name)

    picture = (DOC / 'images' / f'{name}.svg').read_text(encoding='utf-8')

    assert picture == plot.svg(scenario, played(scenario, registry))


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
