"""The resource types that Heat finds in this folder."""

from placement_worker.engines.heat.group import PlacedAutoScalingGroup

RESOURCE_TYPE = 'OS::Heat::PlacedAutoScalingGroup'


def resource_mapping() -> dict[str, type]:
    """Return the resource classes by type; Heat looks for a function of this name."""
    return {RESOURCE_TYPE: PlacedAutoScalingGroup}
