"""The zone in the definition of a member; tests/heat has Heat's own definitions."""

import pytest

from placement_worker.engines.heat import definitions

ZONE = {'get_param': 'availability_zone'}


class Definition:
    """A definition with the methods of Heat's ResourceDefinition that the module uses."""

    def __init__(self, properties):
        self.properties = properties

    def render_hot(self):
        return {} if self.properties is None else {'properties': self.properties}

    def freeze(self, properties):
        return Definition(properties)


def test_zone_is_read_from_the_property():
    """A definition names its zone as a property."""
    assert definitions.zone_of(Definition({'availability_zone': 'az1'})) == 'az1'


def test_definition_without_zone_has_none():
    """A definition may have no properties at all, or a zone that is no text."""
    found = [None, {}, {'availability_zone': None}, {'availability_zone': {'get_param': 'zone'}}]

    assert [definitions.zone_of(Definition(one)) for one in found] == [None] * 4
    assert [definitions.has_zone(Definition(one)) for one in found] == [False, False, True, True]


def test_other_zone_replaces_the_property():
    """A definition in another zone keeps its other properties."""
    found = definitions.in_zone(Definition({'flavor': '1', 'availability_zone': 'az1'}), 'az2')

    assert found.properties == {'flavor': '1', 'availability_zone': 'az2'}


def test_same_zone_returns_the_same_definition():
    """A member whose zone stays is not redefined, so Heat does not touch it."""
    definition = Definition({'availability_zone': 'az1'})

    assert definitions.in_zone(definition, 'az1') is definition


@pytest.mark.parametrize(
    ('template', 'expected'),
    [
        ({'resources': {'server': {'properties': {'availability_zone': ZONE}}}}, True),
        ({'resources': {'server': {'properties': {'list': [1, {'a': ZONE}]}}}}, True),
        ({'resources': {'server': {'value': {'get_param': ['availability_zone', 'x']}}}}, True),
        ({'conditions': {'is_az1': {'equals': [ZONE, 'az1']}}}, True),
        ({'Resources': {'server': {'Properties': {'Zone': {'Ref': 'availability_zone'}}}}}, True),
        ({'resources': {'server': {'get_param': []}}}, False),
        ({'resources': {'server': {'get_param': ['zones', 'availability_zone']}}}, False),
        ({'resources': {'server': {'availability_zone': 'availability_zone'}}}, False),
        ({'resources': {'server': {'text': '{"get_param": "availability_zone"}'}}}, False),
        ({'resources': None, 'outputs': {'zone': {'value': ZONE}}}, False),
        ({}, False),
    ],
)
def test_zone_is_used_by_a_resource_or_a_condition(template, expected):
    """An output shows the zone, but places nothing there."""
    assert definitions.uses_zone(template) == expected
