"""The versions of libraries with which releases of OpenStack run; tests/constraints has them."""

import configparser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
RELEASES = sorted((ROOT / 'tests' / 'constraints').glob('*.txt'))


@pytest.mark.parametrize('file', RELEASES, ids=lambda file: file.stem)
def test_requirements_allow_the_pins_of_each_openstack_release(file):
    """The package can be installed beside the services of each supported release of OpenStack."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / 'setup.cfg')
    required = {
        canonicalize_name(one.name): one
        for one in map(Requirement, setup['options']['install_requires'].split())
    }
    lines = [line for line in file.read_text().splitlines() if not line.startswith('#')]
    pins = {canonicalize_name(name): version for name, version in (x.split('===') for x in lines)}

    assert {'amqp', 'oslo-messaging', 'openstacksdk'} < required.keys() & pins.keys()
    assert [
        f'{required[name]} excludes {pins[name]}'
        for name in required.keys() & pins.keys()
        if not required[name].specifier.contains(pins[name])
    ] == []
