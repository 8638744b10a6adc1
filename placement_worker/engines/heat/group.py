"""The resource type OS::Heat::PlacedAutoScalingGroup, over the groups of Heat 25 to 27.

Heat builds the nested stack of a group from a template, on creation and on each change. The class
chooses zones and victims when Heat asks for this template.
"""

import functools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import oslo_messaging
from heat.common import exception, grouputils, short_id
from heat.engine import constraints, environment, resource
from heat.engine.properties import Schema
from heat.engine.resources.openstack.heat.autoscaling_group import AutoScalingResourceGroup
from heat.engine.resources.template_resource import TemplateResource
from heat.objects.stack import Stack
from heat.scaling import template
from oslo_config import cfg
from typing_extensions import override

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.model import CheckReply, CheckRequest, Credentials
from placement_worker.engines import client_setup
from placement_worker.engines.heat import plans, worker_choice, worker_client
from placement_worker.engines.heat.worker_choice import WorkerChooser
from placement_worker.errors import PlacementWorkerError

PLACEMENT, ZONES, NAME = 'placement', 'zones', 'name'
OLDEST_FIRST = 'OLDEST_FIRST'
NOT_EMPTY = constraints.Length(min=1)

_ZONE = Schema(
    Schema.MAP,
    schema={
        NAME: Schema(
            Schema.STRING, 'Name of an availability zone.', required=True, constraints=[NOT_EMPTY]
        ),
        'weight': Schema(
            Schema.INTEGER,
            'Relative weight of the availability zone.',
            default=100,
            constraints=[constraints.Range(min=1)],
        ),
    },
)
_DELETION = Schema(
    Schema.MAP,
    'The choice of the members to remove.',
    schema={
        'criteria': Schema(
            Schema.STRING,
            'Which members leave first. Failed and outdated members leave before them.',
            default=OLDEST_FIRST,
            constraints=[constraints.AllowedValues(['RANDOM', OLDEST_FIRST, 'YOUNGEST_FIRST'])],
        )
    },
    default={'criteria': OLDEST_FIRST},
)
_PLACEMENT_SCHEMA = Schema(
    Schema.MAP,
    'Availability zones of the members, and the choice of the members to remove. Existing '
    'members keep their zones.',
    required=True,
    update_allowed=True,
    schema={
        ZONES: Schema(
            Schema.LIST,
            'Availability zones to choose from.',
            required=True,
            schema=_ZONE,
            constraints=[NOT_EMPTY],
        ),
        'deletion': _DELETION,
    },
)
HOT_VERSION = ('heat_template_version', '2015-04-30')
FUNCTIONS = ('get_attr', 'get_resource')
DATA = 'placement_worker'  # the key of the group's data in Heat's database

cfg.CONF.register_opts(worker_client.OPTIONS, client_setup.GROUP)


class PlacedAutoScalingGroup(AutoScalingResourceGroup):
    """An autoscaling group whose members are spread over availability zones.

    The workers of placement-worker choose the zone of each new member, and the members to remove.
    Existing members keep their zones.
    """

    PROPERTIES = (*AutoScalingResourceGroup.PROPERTIES, PLACEMENT)
    properties_schema = {**AutoScalingResourceGroup.properties_schema, PLACEMENT: _PLACEMENT_SCHEMA}
    _asks_worker = False

    @override
    def validate(self) -> None:
        # The templates of the next two lines need a valid property `placement`.
        self.validate_template()
        self._validate_unit()
        super().validate()
        if not self._is_rolled_back():
            self._validate_zones()

    @override
    def handle_create(self) -> Any:
        with self._by_worker():
            return super().handle_create()

    @override
    def resize(self, capacity: int) -> None:
        with self._by_worker():
            super().resize(capacity)

    @override
    def adjust(self, *args: Any, **kwargs: Any) -> None:
        # Heat records the success of a signal as an event, but no failure.
        try:
            super().adjust(*args, **kwargs)
        except resource.NoActionRequired:
            raise
        except Exception as exc:
            self._add_event('SIGNAL', self.FAILED, f'{type(exc).__name__}: {exc}')
            raise

    @override
    def _replace(self, *args: Any) -> None:
        with self._by_worker():
            super()._replace(*args)

    @override
    def _create_template(
        self,
        num_instances: int,
        num_replace: int = 0,
        template_version: tuple[str, str] = HOT_VERSION,
    ) -> Any:
        """Return the template of the nested stack; see `GroupPlan`.

        :source: `_create_template` in heat/engine/resources/openstack/heat/instance_group.py, of
            Heat 27, which passes no `customise` to `member_definitions`.
        """
        old = dict(grouputils.get_member_definitions(self, include_failed=True))
        new = self._get_resource_definition()
        members = plans.members_of(old, new, self._rows())
        plan = plans.plan(members, num_instances, self._chooser(), short_id.generate_id)
        weights = plans.weights_of(self._placement[ZONES])
        staying = plans.renewal_order(members, weights, plan.zones, plan.created)
        content = template.member_definitions(
            [(name, plans.in_zone(old[name], plan.zones[name])) for name in staying],
            new,
            num_instances,
            num_replace,
            iter(plan.created).__next__,
            customise=lambda name, definition: plans.in_zone(definition, plan.zones[name]),
        )
        return self._template_of(list(content), template_version)

    def _template_of(self, content: list[tuple[str, Any]], version: tuple[str, str]) -> Any:
        nested = template.make_template(
            content,
            version=version,
            child_env=environment.get_child_environment(
                self.stack.env, self.child_params(), item_to_remove=self.resource_info
            ),
        )
        references = [functools.partial(nested.functions[name], None, name) for name in FUNCTIONS]
        for output in self._nested_output_defns([name for name, _ in content], *references):
            nested.add_output(output)
        return nested

    def _rows(self) -> list[dict[str, Any]]:
        identity, client = self.nested_identifier(), self.rpc_client()
        return list(client.list_stack_resources(self.context, dict(identity))) if identity else []

    @contextmanager
    def _by_worker(self) -> Iterator[None]:
        """Let a worker choose during the block, unless the stack is being rolled back.

        Heat builds templates outside of it to validate and to preview a stack. A rollback must
        succeed without a worker.
        """
        self._asks_worker = not self._is_rolled_back()
        try:
            yield
        finally:
            self._asks_worker = False

    def _is_rolled_back(self) -> bool:
        """Return whether the stack of the user, which may contain that of the group, is."""
        root = self.stack.root_stack_id()
        if root is None:
            return False
        action, status, *_ = Stack.get_status(self.context, root)
        return (action, status) == (self.stack.ROLLBACK, self.stack.IN_PROGRESS)

    def _chooser(self) -> plans.Chooser:
        if self._asks_worker:
            return WorkerChooser(self._check, self._group(), self._store)
        return plans.LocalChooser(self._placement[ZONES])

    @property
    def _placement(self) -> dict[str, Any]:
        try:
            placement: dict[str, Any] = self.properties[PLACEMENT]
        except ValueError:
            # Its text has no path. Heat validates no values of a group in a nested stack.
            self.properties.validate()
            raise
        return placement

    def _group(self) -> worker_choice.Group:
        owner = self.stack.stored_context()
        return worker_choice.Group(
            id=self.uuid,
            name=f'{self.stack.name}/{self.name}',
            user=owner.trustor_user_id,
            project=self.stack.tenant_id,
            placement=self._placement,
            credentials=Credentials(owner.trust_id),
            data=json.loads(self.data().get(DATA, '{}')),
        )

    def _store(self, data: dict[str, Any]) -> None:
        self.data_set(DATA, json.dumps(data))

    def _check(self, request: CheckRequest) -> CheckReply:
        return worker_client.call(
            lambda client: client.policy_check(request, client_setup.ids(self.context)),
            cfg.CONF.placement_worker.timeout_s,
        )

    def _validate_unit(self) -> None:
        name = plans.ZONE_PROPERTY
        definition = self._get_resource_definition()
        if plans.has_zone(definition):
            raise exception.StackValidationFailed(
                message=f'{self.name}: remove {name} from the properties of the resource; the '
                'zones of the members are in the property placement'
            )
        (unit,) = self.get_nested_parameters_stack().values()
        if name not in unit.properties_schema:
            raise exception.StackValidationFailed(
                message=f'{self.name}: {definition.resource_type} has no property {name}; add a '
                'parameter of this name to the template'
            )
        if isinstance(unit, TemplateResource) and not plans.uses_zone(unit.child_template()):
            raise exception.StackValidationFailed(
                message=f'{self.name}: no resource of {unit.template_url} uses its parameter '
                f'{name}, so the placement would have no effect; add {{get_param: {name}}} to its '
                'servers'
            )

    def _validate_zones(self) -> None:
        """Check with a worker that the cloud has the zones.

        A zone without a name is known after the creation of another resource.
        """
        zones = self._placement[ZONES]
        if not zones or not all(zone[NAME] for zone in zones):
            return

        def validate(client: PolicyClient) -> None:
            client.policy_validate(
                worker_choice.zone_spec(self._placement),
                check_resources=True,
                context=client_setup.ids(self.context),
            )

        try:
            worker_client.call(validate, cfg.CONF.placement_worker.validate_timeout_s)
        except (PlacementWorkerError, oslo_messaging.MessagingException) as exc:
            raise exception.StackValidationFailed(message=f'{self.name}: placement: {exc}') from exc
