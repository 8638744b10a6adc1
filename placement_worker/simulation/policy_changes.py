"""Policies of a scenario: their properties, and steps that change them."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import structs

from placement_worker.contract.model import Binding
from placement_worker.policies.base import Policy

PLACEMENT = ('senlin.policy.zone_placement', 'senlin.policy.region_placement')


def normalized(binding: Binding, policy: Policy[Any]) -> Binding:
    """Return a binding with the property types of the schema, which the measures need."""
    properties = msgspec.to_builtins(policy.properties)
    return structs.replace(binding, spec=structs.replace(binding.spec, properties=properties))


def with_property(binding: Binding, key: str, values: Mapping[str, int]) -> Binding:
    """Return a binding with the `weight` or `cap` of places, if it is a placement policy."""
    if binding.spec.type not in PLACEMENT:
        return binding
    properties = {
        name: [
            {**place, key: values[place['name']]} if place.get('name') in values else place
            for place in places
        ]
        for name, places in binding.spec.properties.items()
    }
    return structs.replace(binding, spec=structs.replace(binding.spec, properties=properties))
