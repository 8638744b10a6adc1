"""Heat checks templates: it never places members, and refuses mistakes."""

import pytest
from keystoneauth1.exceptions import BadRequest

from tests.heat.stacks import Stack
from tests.heat.templates import placement, server


def test_validation_and_preview_place_nothing(cloud):
    """Validation and preview of a template create no server and decide nothing."""
    group = Stack(cloud, desired_capacity=3)
    servers = cloud.servers()

    cloud.heat.request('POST', '/validate', **group.template.body())
    shown = cloud.heat.request(
        'POST', '/stacks/preview', stack_name='shown', **group.template.body()
    )

    assert group.name not in [stack['stack_name'] for stack in cloud.heat.get('/stacks')['stacks']]
    assert len(str(shown.json()['stack']['resources']).split('OS::Nova::Server')) > 3
    assert cloud.servers() == servers
    assert group.decisions() == []


def test_unknown_zone_is_refused(cloud):
    """A zone that Nova does not know is refused before a stack exists."""
    with pytest.raises(BadRequest, match='az9'):
        Stack(cloud, placement=placement('az1', 'az9')).create(1)


def test_zone_of_the_resource_is_refused(cloud):
    """A zone in the definition of the resource contradicts the group."""
    with pytest.raises(BadRequest, match='remove availability_zone'):
        Stack(cloud, resource=server(availability_zone='az1')).create(1)
