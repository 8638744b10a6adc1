"""The availability zone in the definition of a member, as a property of the resource.

The functions work on Heat's ResourceDefinition.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

ZONE_PROPERTY = 'availability_zone'
"""The property of OS::Nova::Server, and the parameter of a template that is a member."""


def zone_of(definition: Any) -> str | None:
    """Return the zone of a member, or None if its definition has none."""
    zone = _properties(definition).get(ZONE_PROPERTY)
    return zone if isinstance(zone, str) else None


def has_zone(definition: Any) -> bool:
    """Return whether a definition has the property, with whatever value."""
    return ZONE_PROPERTY in _properties(definition)


def in_zone(definition: Any, zone: str | None) -> Any:
    """Return a definition with another zone; the same definition if it has this zone."""
    if zone == zone_of(definition):
        return definition
    return definition.freeze(properties={**_properties(definition), ZONE_PROPERTY: zone})


def uses_zone(template: Mapping[str, Any]) -> bool:
    """Return whether a resource or a condition of a template uses the parameter.

    The names are those of HOT, and of templates in the format of CloudFormation.
    """
    sections = ('resources', 'conditions', 'Resources', 'Conditions')
    used = json.dumps([template.get(section) for section in sections], default=str)
    return re.search(rf'"(get_param|Ref)": \[?"{ZONE_PROPERTY}"', used) is not None


def _properties(definition: Any) -> dict[str, Any]:
    """Return the properties as they are in the template."""
    return definition.render_hot().get('properties') or {}
