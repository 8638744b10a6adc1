"""The parts of Heat that the plugin builds on, in each supported release."""

import inspect
import json

import pytest
from heat.common import exception
from heat.engine.resources import template_resource
from heat.engine.resources.openstack.heat.autoscaling_group import AutoScalingResourceGroup
from heat.engine.resources.openstack.nova import server as server_resource
from heat.rpc import api
from heat.scaling import template as scaling_template

from placement_worker.engines.heat import plans, worker_client
from placement_worker.engines.heat.group import PlacedAutoScalingGroup
from placement_worker.errors import NoWorkerAnswered
from tests.heat.contract.conftest import PLACEMENT, SERVER, NestedStack

GROUP, PLAIN = AutoScalingResourceGroup, 'OS::Heat::AutoScalingGroup'
# A value that Heat knows after the creation of another resource.
UNRESOLVED = {'get_attr': ['other', 'value']}


def server(zone, **properties):
    own = {'availability_zone': zone} if zone else {}
    return {**SERVER, 'properties': {**SERVER['properties'], **own, **properties}}


def content(group, size, replaced=0):
    return dict(group._create_template(size, replaced).t.get('resources', {}))


def zones(members):
    return sorted(member['properties']['availability_zone'] for member in members.values())


@pytest.mark.parametrize(
    ('owner', 'name', 'parameters'),
    [
        (GROUP, '_create_template', 'self, num_instances, num_replace, template_version'),
        (GROUP, '_replace', 'self, min_in_service, batch_size, pause_sec'),
        (GROUP, 'resize', 'self, capacity'),
        (GROUP, 'handle_create', 'self'),
        (GROUP, '_nested_output_defns', 'self, resource_names, get_attr_fn, get_res_fn'),
        (GROUP, '_get_resource_definition', 'self'),
        (GROUP, '_add_event', 'self, action, status, reason'),
        (
            scaling_template,
            'member_definitions',
            'old_resources, new_definition, num_resources, num_new, get_new_id, customise',
        ),
    ],
)
def test_method_of_heat_has_the_expected_parameters(owner, name, parameters):
    """Functions that the plugin overrides or calls have the parameters that it relies on."""
    assert ', '.join(inspect.signature(getattr(owner, name)).parameters) == parameters


def test_rows_of_heat_have_the_expected_keys():
    """The keys and values that the plugin reads of a member are those of Heat's API."""
    names = (
        api.RES_NAME, api.RES_ACTION, api.RES_STATUS, api.RES_STATUS_DATA, api.RES_CREATION_TIME,
        api.RES_UPDATED_TIME,
    )  # fmt: skip

    assert names == (
        'resource_name', 'resource_action', 'resource_status', 'resource_status_reason',
        'creation_time', 'updated_time',
    )  # fmt: skip
    kind = PlacedAutoScalingGroup
    assert kind.FAILED == plans.FAILED
    assert kind.CREATE in plans.CREATED_AGAIN


@pytest.mark.parametrize('kind', [server_resource.Server, template_resource.TemplateResource])
def test_member_whose_check_failed_is_always_replaced(kind):
    """Heat creates a member again whose check failed, so its zone can change."""
    assert kind.always_replace_on_check_failed
    assert kind.CHECK in plans.CREATED_AGAIN


def test_template_equals_that_of_heat_but_for_zones(make_group):
    """Version, outputs and members of the nested stack are those of Heat's own type."""
    old = {name: server(None) for name in ('a', 'b')}
    nested = NestedStack(old)

    ours = make_group(nested)._create_template(2).t
    heats = make_group(nested, PLAIN)._create_template(2).t

    assert ours == heats


def test_checked_template_asks_no_worker(make_group, monkeypatch):
    """Validation and preview build templates without a question to a worker."""
    monkeypatch.setattr(PlacedAutoScalingGroup, '_check', refuse)
    group = make_group(NestedStack({'a': server('az1')}), desired_capacity=3)

    assert len(group.child_template().t['resources']) == 3
    assert len(list(group.get_nested_parameters_stack().values())) == 1
    assert len(list(group.preview())) == 3


def test_old_members_keep_their_definition_and_new_ones_get_a_zone(make_group):
    """A member that stays has the same definition as before, so Heat does not touch it."""
    old = {'a': server('az1'), 'b': server('az9')}

    members = content(make_group(NestedStack(old)), 4)

    assert {name: members[name] for name in old} == old
    assert zones(members) == ['az1', 'az2', 'az3', 'az9']


def test_data_of_the_worker_are_stored_with_the_group(make_group, monkeypatch):
    """The next request has the data of the last reply, from Heat's database."""
    database: dict[str, str] = {}
    group = make_group()
    monkeypatch.setattr(group, 'data', lambda: database)
    monkeypatch.setattr(group, 'data_set', database.__setitem__)
    monkeypatch.setattr(group.stack, 'stored_context', lambda: group.context)
    monkeypatch.setattr(type(group), 'uuid', 'id', raising=False)
    failures = {'placement_failures': [{'zone': 'az1'}]}

    before = group._group().data
    group._store(failures)

    assert (before, group._group().data) == ({}, failures)


OLD = {'flavor': 'old'}


@pytest.mark.parametrize(
    ('old', 'failed', 'renewed', 'expected'),
    [
        # A rolling update changes so many members, the oldest first, within their zones.
        (
            {'a': server('az1', **OLD), 'b': server('az2', **OLD)},
            (),
            1,
            {'a': server('az1'), 'b': server('az2', **OLD)},
        ),
        (
            {'a': server('az1'), 'b': server('az2', **OLD)},
            (),
            1,
            {'a': server('az1'), 'b': server('az2')},
        ),
        # A retry changes the zone in the definition of a member that does not exist.
        (
            {'a': server('az1'), 'b': server('az2'), 'c': server('az1')},
            ('c',),
            0,
            {'a': server('az1'), 'b': server('az2'), 'c': server('az3')},
        ),
        ({}, (), 0, {}),
    ],
    ids=['renewed', 'current', 'failed', 'none'],
)
def test_member_is_changed_only_if_it_is_renewed_or_failed(
    make_group, old, failed, renewed, expected
):
    """Renewed members keep their zones, current ones are passed over, failed ones placed again."""
    group = make_group(NestedStack(old or {'a': server('az1')}, failed=failed))

    assert content(group, len(old), renewed) == expected


AZ1, UNKNOWN = {'name': 'az1'}, {'deletion': {'criteria': 'OLDEST'}}
ZONE = {'get_param': 'availability_zone'}
UNIT = {'type': 'unit.yaml'}


def unit(value, **more):
    """Return a template that is a member, with a resource of this value."""
    parameters = {
        'availability_zone': {'type': 'string'},
        'name': {'type': 'string', 'default': ''},
    }
    resource = {'type': 'OS::Heat::Value', 'properties': {'value': value}}
    return {
        'heat_template_version': '2021-04-16',
        'parameters': parameters,
        'resources': {'server': resource},
        **more,
    }


CLOUDFORMATION = {
    'HeatTemplateFormatVersion': '2012-12-12',
    'Parameters': {'availability_zone': {'Type': 'String'}},
    'Resources': {
        'server': {'Type': 'OS::Heat::Value', 'Properties': {'value': {'Ref': 'availability_zone'}}}
    },
}


@pytest.mark.parametrize(
    'template',
    [
        unit({'list_join': ['', [{'str_replace': {'template': 'z', 'params': {'z': ZONE}}}]]}),
        unit({'if': ['in', 'a', 'b']}, conditions={'in': {'equals': [ZONE, 'az1']}}),
        CLOUDFORMATION,
    ],
    ids=['function', 'condition', 'CloudFormation'],
)
def test_template_that_uses_its_zone_is_a_member(make_group, template):
    """The zone may be used by any function, in a resource or in a condition, or by Ref."""
    make_group(resource=UNIT, files={'unit.yaml': json.dumps(template)})._validate_unit()


@pytest.mark.parametrize(
    ('resource', 'message'),
    [
        (server('az1'), 'remove availability_zone'),
        ({'type': 'OS::Heat::RandomString'}, 'OS::Heat::RandomString has no'),
        (
            UNIT,
            r'group: no resource of unit\.yaml uses its parameter availability_zone, so the '
            'placement would have no effect',
        ),
    ],
    ids=['zone of the user', 'no zones', 'unused zone'],
)
def test_resource_that_cannot_get_a_zone_is_refused(make_group, resource, message):
    """A zone of the user would be overwritten, and one that nothing uses would have no effect."""
    files = {'unit.yaml': json.dumps(unit({'get_param': 'name'}))}

    with pytest.raises(exception.StackValidationFailed, match=message):
        make_group(resource=resource, files=files)._validate_unit()


@pytest.mark.parametrize(
    ('placement', 'message'),
    [
        (None, 'placement: Property zones not assigned'),
        ([], r'placement: "\[\]" is not a map'),
        ({}, 'placement: Property zones not assigned'),
        ({'zones': None}, r'placement.zones: length \(0\) is out of range'),
        ({'zones': []}, r'placement.zones: length \(0\) is out of range'),
        ({'zones': 'az1'}, r'placement.zones: "\'az1\'" is not a list'),
        ({'zones': ['az1']}, r'placement.zones\[0\]: "az1" is not a map'),
        ({'zones': [AZ1, 'az2']}, r'placement.zones\[1\]: "az2" is not a map'),
        ({'zones': [None]}, r'placement.zones\[0\]: Property name not assigned'),
        ({'zones': [AZ1, {'weight': 5}]}, r'placement.zones\[1\]: Property name not assigned'),
        ({'zones': [{'name': ''}]}, r'placement.zones\[0\].name: length \(0\) is out of range'),
        ({'zones': [{'name': ['a']}]}, r'placement.zones\[0\].name: Value must be a string'),
        ({'zones': [{**AZ1, 'weight': 0}]}, r'placement.zones\[0\].weight: 0 is out of range'),
        ({'zones': [{**AZ1, 'weight': 'x'}]}, r'placement.zones\[0\].weight: .* not an integer'),
        ({'zones': [{**AZ1, 'wieght': 5}]}, r'placement.zones\[0\].* Unknown Property wieght'),
        ({'zones': [AZ1], 'deletion': []}, r'placement.deletion: "\[\]" is not a map'),
        ({'zones': [AZ1], **UNKNOWN}, 'placement.deletion.criteria: .*not an allowed value'),
        ({'zones': [AZ1], 'regions': []}, 'placement: Unknown Property regions'),
    ],
)
def test_wrong_placement_is_refused(make_group, placement, message):
    """Heat names the path of a wrong value, when it validates the stack and when it creates it."""
    match = rf'Property error: resources\.group\.properties\.{message}'

    with pytest.raises(exception.StackValidationFailed, match=match):
        make_group(placement=placement).stack.validate()
    with pytest.raises(exception.StackValidationFailed, match=message):
        make_group(placement=placement).properties.validate()


def test_wrong_placement_of_a_nested_group_is_refused(make_group):
    """Heat does not check the values of a nested stack before the group builds its template."""
    group = make_group(placement={'zones': [AZ1, 'az2']})
    group.stack.strict_validate = False

    with pytest.raises(exception.StackValidationFailed, match=r'zones\[1\]: "az2" is not a map'):
        group.stack.validate()


@pytest.mark.parametrize(
    'zones', [UNRESOLVED, [{'name': UNRESOLVED}], [AZ1, {'name': UNRESOLVED, 'weight': UNRESOLVED}]]
)
def test_placement_from_another_resource_is_validated_at_its_creation(
    make_group, monkeypatch, zones
):
    """The zones are unknown before the other resource exists, so no worker is asked about them."""
    monkeypatch.setattr(worker_client, 'call', refuse)
    files = {'unit.yaml': json.dumps(unit(ZONE))}
    group = make_group(placement={'zones': zones}, desired_capacity=2, resource=UNIT, files=files)

    group.stack.validate()

    assert len(group.child_template().t['resources']) == 2


def test_placement_has_defaults(make_group):
    """Zones have equal weights and the oldest members leave first, unless the user says more."""
    group = make_group(placement=PLACEMENT)

    assert group._placement['zones'][0] == {'name': 'az1', 'weight': 100}
    assert group._placement['deletion'] == {'criteria': 'OLDEST_FIRST'}


def refuse(*_):
    raise NoWorkerAnswered('asked')


def test_surplus_of_a_rolling_update_comes_from_the_zones_of_new_members(make_group):
    """A rolling update renews members of other zones than a new member's first."""
    old = {f'm{i}': server(f'az{i}', flavor='old') for i in (1, 2, 3)}

    grown = content(make_group(NestedStack(old)), 4, 1)
    renewed = content(make_group(NestedStack(grown)), 4, 2)

    outdated = [name for name, one in renewed.items() if one['properties']['flavor'] == 'old']
    assert zones(grown) == ['az1', 'az1', 'az2', 'az3']
    assert outdated == ['m1']
