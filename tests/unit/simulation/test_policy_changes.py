"""The policies of a scenario."""

from placement_worker.contract.model import Binding, Spec
from placement_worker.simulation.policy_changes import normalized, with_property


def binding(policy_type, **properties):
    return Binding('p', Spec(policy_type, '1.0', properties))


def test_normalized_policy_has_the_types_of_its_schema(registry):
    """A weight that is a string becomes a number, and defaults are filled in."""
    zones = binding('senlin.policy.zone_placement', zones=[{'name': 'a', 'weight': '7'}])

    found = normalized(zones, registry.policy(zones.spec, '$'))

    assert found.spec.properties == {'zones': [{'name': 'a', 'weight': 7}]}


def test_with_property_changes_the_named_places_only():
    """A new weight applies to the places that it names."""
    zones = binding('senlin.policy.zone_placement', zones=[{'name': 'a'}, {'name': 'b'}])

    found = with_property(zones, 'weight', {'b': 3, 'c': 4})

    assert found.spec.properties == {'zones': [{'name': 'a'}, {'name': 'b', 'weight': 3}]}


def test_with_property_leaves_other_policies_alone():
    """A policy that places no nodes stays the same."""
    deletion = binding('senlin.policy.deletion', criteria='RANDOM')

    assert with_property(deletion, 'weight', {'a': 1}) is deletion
