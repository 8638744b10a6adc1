"""Heat in this process, without its services and its database."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from heat.common import config, context, identifier  # noqa: F401  config registers the options
from heat.engine import environment, resources, stack, template
from oslo_config import cfg

from placement_worker.engines.heat import plugin
from placement_worker.engines.heat.plugin.placed_auto_scaling_group import RESOURCE_TYPE

PLACEMENT = {'zones': [{'name': 'az1'}, {'name': 'az2'}, {'name': 'az3'}]}
SERVER = {'type': 'OS::Nova::Server', 'properties': {'flavor': 'm1', 'image': 'cirros'}}
OTHER = {'type': 'OS::Heat::Value', 'properties': {'value': ['az1']}}
Make = Callable[..., Any]
Json = dict[str, Any]


class NestedStack:
    """A stack with members in an order of age; `failed` ones could not be created."""

    def __init__(self, definitions: Mapping[str, Json], failed: tuple[str, ...] = ()) -> None:
        self._definitions, self._failed = definitions, failed

    def list_stack_resources(self, _context: object, _identity: object) -> list[Json]:
        return [
            {
                'resource_name': name,
                'resource_action': 'CREATE',
                'resource_status': 'FAILED' if name in self._failed else 'COMPLETE',
                'resource_status_reason': 'No valid host was found',
                'creation_time': f'2026-11-22T20:00:{index:02}Z',
                'updated_time': f'2026-11-22T20:00:{index:02}Z',
            }
            for index, name in enumerate(self._definitions)
        ]

    def get_template(self, _context: object, _identity: object) -> Json:
        return {'heat_template_version': '2015-04-30', 'resources': dict(self._definitions)}


@pytest.fixture(scope='session')
def heat() -> None:
    """Load Heat's resource types, and those of the plugin from its folder."""
    cfg.CONF([], project='heat', default_config_files=[], default_config_dirs=[])
    cfg.CONF.set_override('plugin_dirs', list(plugin.__path__))
    resources.initialise()


@pytest.fixture
def make_group(heat: None) -> Make:
    """Return a function that creates a group whose nested stack has the given members."""

    stacks: list[Any] = []

    def make(
        nested: NestedStack | None = None,
        type_: str = RESOURCE_TYPE,
        files: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Any:
        own = {'placement': PLACEMENT} if type_ == RESOURCE_TYPE else {}
        properties = {'min_size': 0, 'max_size': 9, 'resource': SERVER, **own, **more}
        text = {
            'heat_template_version': '2021-04-16',
            'resources': {'group': {'type': type_, 'properties': properties}, 'other': OTHER},
        }
        owner = context.RequestContext(user_id='user', project_id='demo', is_admin=False)
        env = environment.Environment({})
        made = stack.Stack(owner, 'stack', template.Template(text, files=files, env=env))
        group = made['group']
        identity = identifier.HeatIdentifier('demo', 'nested', 'id') if nested else None
        group.nested_identifier = lambda: identity
        group.rpc_client = lambda: nested
        stacks.append(made)  # a group has only a weak reference to its stack
        return group

    return make
