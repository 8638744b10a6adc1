"""Templates with one group and three scaling policies."""

from typing import Any

from tests.cloud import computes

Json = dict[str, Any]
PLACED, PLAIN = 'OS::Heat::PlacedAutoScalingGroup', 'OS::Heat::AutoScalingGroup'
ZONES = ('az1', 'az2', 'az3')
SERVER: Json = {
    'type': 'OS::Nova::Server',
    'properties': {'flavor': '1', 'image': computes.IMAGE, 'networks': [{'network': 'private'}]},
}
# The change of the size by each scaling policy.
ADJUSTMENTS = {'grow': 1, 'grow3': 3, 'shrink2': -2}
# The resource that a gate waits for.
GATE = 'gate'
STACK_MIN = 5


def placement(*zones: str) -> Json:
    listed = [{'name': zone} for zone in zones or ZONES]
    return {'zones': listed, 'deletion': {'criteria': 'OLDEST_FIRST'}}


def server(**properties: Any) -> Json:
    return {**SERVER, 'properties': {**SERVER['properties'], **properties}}


class Template:
    """A template that a test can change: `properties` are those of the group."""

    def __init__(self, type_: str, properties: Json) -> None:
        own = {'placement': placement()} if type_ == PLACED else {}
        self.properties: Json = {
            'min_size': 0, 'max_size': 10, 'resource': SERVER, **own, **properties,
        }  # fmt: skip
        self.files: dict[str, str] = {}  # templates that it refers to, by name
        self._type = type_
        self._gate: Json = {}
        self._group_needs: list[str] = []

    def add_gate_before_group(self) -> None:
        """Let the creation or the update of the group wait until a test opens a gate."""
        self._gate = _gate()
        self._group_needs = ['wait']

    def add_gate_after_group(self) -> None:
        """Let the creation or the update of the stack wait after that of the group."""
        self._gate = _gate(depends_on=['group'])

    def body(self) -> Json:
        """Return the body of a request; a gate that fails causes a rollback."""
        group = {
            'type': self._type, 'properties': self.properties, 'depends_on': self._group_needs,
        }  # fmt: skip
        policies = {name: _policy(change) for name, change in ADJUSTMENTS.items()}
        return {
            'template': {
                'heat_template_version': '2021-04-16',
                'resources': {'group': group, **policies, **self._gate},
            },
            'files': self.files,
            'timeout_mins': STACK_MIN,
            'disable_rollback': not self._gate or bool(self._group_needs),
        }


def _policy(change: int) -> Json:
    return {
        'type': 'OS::Heat::ScalingPolicy',
        'properties': {
            'auto_scaling_group_id': {'get_resource': 'group'},
            'adjustment_type': 'change_in_capacity',
            'scaling_adjustment': change,
        },
    }


def _gate(**more: Any) -> Json:
    properties = {'handle': {'get_resource': GATE}, 'timeout': STACK_MIN * 60}
    return {
        GATE: {
            'type': 'OS::Heat::WaitConditionHandle',
            'properties': {'signal_transport': 'HEAT_SIGNAL'},
        },
        'wait': {'type': 'OS::Heat::WaitCondition', 'properties': properties, **more},
    }
