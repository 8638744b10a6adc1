"""The members of a group are templates."""

import json
from collections import Counter

import pytest
from keystoneauth1.exceptions import BadRequest

from tests.heat.stacks import Stack
from tests.heat.templates import server

UNIT = {
    'heat_template_version': '2021-04-16',
    'parameters': {'availability_zone': {'type': 'string'}},
    'resources': {
        'server': server(
            availability_zone={'get_param': 'availability_zone'},
            metadata={'unit': {'get_param': 'OS::stack_name'}},
        ),
        'note': {'type': 'OS::Heat::Value', 'properties': {'value': 'beside the server'}},
    },
}


def test_units_get_their_zone_as_a_parameter(cloud):
    """The zone of a unit is its parameter, from which its server gets it."""
    group = Stack(cloud, resource={'type': 'unit.yaml'})
    group.template.files['unit.yaml'] = json.dumps(UNIT)
    before = cloud.servers()

    group.create(3)
    group.scale('shrink2', 1)
    group.scale('grow', 2)

    added = [cloud.compute.get_server(id_) for id_ in cloud.servers() - before]
    assert Counter(server.availability_zone for server in added).most_common(1)[0][1] == 1
    assert len(added) == 2


def test_unit_without_the_parameter_is_refused(cloud):
    """A unit that has no parameter for its zone is refused."""
    group = Stack(cloud, resource={'type': 'unit.yaml'})
    group.template.files['unit.yaml'] = json.dumps({**UNIT, 'parameters': {}, 'resources': {}})

    with pytest.raises(BadRequest, match='has no property availability_zone'):
        group.create(1)
