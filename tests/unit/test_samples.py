"""The samples in conf/ and the README are current and work."""

import subprocess
import sys
from pathlib import Path

import pytest

from placement_worker.config import options

ROOT = Path(__file__).parents[2]
OWN_GROUPS = list(options.GROUPS)


def group(text, name):
    """The part of a sample configuration between this group's heading and the next one."""
    return text.split(f'\n[{name}]\n')[1].split('\n[')[0].strip()


def generate(config, file):
    program = Path(sys.executable).with_name('oslo-config-generator')
    subprocess.run(
        [program, '--config-file', f'conf/{config}', '--output-file', file],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return file.read_text()


@pytest.fixture(scope='module')
def generated(tmp_path_factory):
    return generate('oslo-config-generator.conf', tmp_path_factory.mktemp('conf') / 'sample')


@pytest.mark.parametrize('name', OWN_GROUPS)
def test_sample_has_the_generated_groups_of_this_package(generated, name):
    """`tox -e genconfig` updates it; the groups of libraries change with their releases."""
    sample = (ROOT / 'conf' / 'placement-worker.conf.sample').read_text()

    assert group(sample, name) == group(generated, name)


@pytest.mark.parametrize('engine', ['heat', 'senlin'])
def test_sample_for_engine_is_the_generated_one(tmp_path, engine):
    """`tox -e genconfig` brings the sample up to date."""
    sample = (ROOT / 'conf' / f'{engine}.conf.sample').read_text()

    assert sample == generate(f'oslo-config-generator-{engine}.conf', tmp_path / 'sample')


def test_sample_shows_the_default_exchange(generated):
    """The sample shows the default of this package, not that of oslo.messaging."""
    line = '#control_exchange = placement_worker\n'

    assert line in generated
    assert line in (ROOT / 'conf' / 'placement-worker.conf.sample').read_text()


def test_readme_shows_the_output_of_the_first_command():
    """A reader sees the output that the README shows."""
    text = (ROOT / 'README.rst').read_text()
    command = [sys.executable, '-m', 'placement_worker', 'check', 'examples/scale-out.yaml']

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    for line in done.stdout.splitlines():
        shown = line.partition(': APPLIED in')[0]
        assert shown in text


def test_sample_of_a_secured_bus_matches_the_manual():
    """The manual and the sample advise the same settings."""
    sample = (ROOT / 'conf' / 'bus.conf.sample').read_text()
    manual = (ROOT / 'doc' / 'source' / 'bus-security.rst').read_text()
    settings = [line for line in sample.splitlines() if line and not line.startswith('#')]

    assert len(settings) == 5
    assert [line for line in settings if f'    {line}\n' not in manual] == []
