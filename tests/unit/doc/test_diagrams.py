"""Diagrams of the manual, against the pages that explain them and against the code."""

import re
from pathlib import Path

from placement_worker.worker import factory
from tests.config_files import default_options

SOURCE = Path(__file__).parents[3] / 'doc' / 'source'
DIAGRAMS = SOURCE / 'diagrams'
ALT = re.compile(r'^\.\. graphviz:: (diagrams/\S+)\n   :alt: \S', re.MULTILINE)


def test_each_diagram_is_shown_with_an_alternative_text():
    """A page shows each diagram, with a text in place of the picture."""
    pages = [page.read_text(encoding='utf-8') for page in SOURCE.rglob('*.rst')]
    described = [file for page in pages for file in ALT.findall(page)]

    assert len(described) == sum(page.count('.. graphviz::') for page in pages)
    assert set(described) == {f'diagrams/{file.name}' for file in DIAGRAMS.iterdir()}


def test_steps_of_a_request_are_those_that_the_page_explains():
    """The page explains each numbered step of the path of a request, in order."""
    diagram = (DIAGRAMS / 'path.dot').read_text(encoding='utf-8')
    drawn = sorted(int(step) for step in re.findall(r'label = "(?:&nbsp;)?(\d+) ', diagram))
    page = (SOURCE / 'delivery.rst').read_text(encoding='utf-8')
    explained = page.split('.. _path-of-a-request:')[1].split('.. _')[0]

    assert [int(step) for step in re.findall(r'^(\d+)\. ', explained, re.MULTILINE)] == drawn
    assert drawn == list(range(1, len(drawn) + 1))


def test_deaths_that_move_a_request_are_those_of_the_code():
    """The diagram has the deaths after which each queue's requests are moved, by default."""
    limits = [queue.death_limit for queue in factory.consumed_queues(default_options())]
    diagram = (DIAGRAMS / 'delivery.dot').read_text(encoding='utf-8')

    assert re.findall(r'(\w+) -> (\w+) \[label = "&nbsp;(\d+) deaths?:', diagram) == [
        ('worker', 'isolation', str(limits[0].deaths)),
        ('isolated', 'parking', str(limits[2].deaths)),
    ]
