"""The zone in the definition of a member; tests/heat has Heat's own definitions."""

from placement_worker.engines.heat import definitions


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
