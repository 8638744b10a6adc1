"""The manual pages of the programs; `tox -e docs` builds them."""

import configparser
import itertools
import runpy
from pathlib import Path

import pytest

from placement_worker.cmd.status import USAGE

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / 'doc' / 'source'
SECTIONS = ('Synopsis', 'Description', 'Exit status', 'See also')


@pytest.fixture(scope='module')
def pages():
    """Return the configuration of the pages: name of the program -> source and section."""
    settings = runpy.run_path(str(SOURCE / 'conf.py'))
    return {name: (source, section) for source, name, _, _, section in settings['man_pages']}


def test_each_program_of_the_package_has_a_manual_page(pages):
    """Each console script has a page in section 1, and no other program has one."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / 'setup.cfg')
    scripts = [
        line.partition(' = ')[0]
        for line in parser['options.entry_points']['console_scripts'].split('\n')
        if line
    ]

    assert pages == {name: (f'man/{name}', 1) for name in scripts}


def test_manual_pages_have_the_sections_that_readers_expect(pages):
    """Each page has synopsis, description, exit status and references, in this order."""
    for source, _ in pages.values():
        lines = (SOURCE / f'{source}.rst').read_text(encoding='utf-8').splitlines()
        titles = [line for line, under in itertools.pairwise(lines) if set(under) == {'='}]
        assert [title for title in titles if title in SECTIONS] == list(SECTIONS)


def test_synopsis_of_the_status_program_is_its_usage(pages):
    """The page of placement-worker-status shows the commands that its help shows."""
    usage = USAGE.partition('\n\n')[0].removeprefix('usage: ').splitlines()

    source, _ = pages['placement-worker-status']
    page = (SOURCE / f'{source}.rst').read_text(encoding='utf-8')
    assert [line for line in usage if f'    {line.strip()}\n' not in page] == []
