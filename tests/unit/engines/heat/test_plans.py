"""The next content of a group without Heat, which tests/heat has."""

import dataclasses
import datetime
import itertools

import pytest

from placement_worker.engines.heat import plans
from placement_worker.engines.heat.plans import LocalChooser, Member, plan, renewal_order

FAILED = Member('failed', 'az1', failed=True, needs_zone=True)
ONE, TWO, THREE = Member('one', 'az1'), Member('two', 'az2'), Member('three', 'az3')
ALL = ['one', 'two', 'three']


class Chooser:
    """Choose the last members and a zone of its own; record each question."""

    def __init__(self):
        self.asked = []

    def victims(self, members, count):
        self.asked.append(('victims', [member.name for member in members], count))
        return [member.name for member in members[-count:]]

    def zones(self, members, count):
        self.asked.append(('zones', [member.name for member in members], count))
        return ['new'] * count


@pytest.mark.parametrize(
    ('members', 'size', 'asked', 'zones'),
    [
        ([ONE], 3, [('zones', ['one'], 2)], {'one': 'az1', 'new1': 'new', 'new2': 'new'}),
        ([ONE, TWO, THREE], 1, [('victims', ALL, 2)], {'one': 'az1'}),
        ([ONE, TWO], 2, [], {'one': 'az1', 'two': 'az2'}),
        ([FAILED, TWO], 2, [('zones', ['failed', 'two'], 1)], {'failed': 'new', 'two': 'az2'}),
        (
            [FAILED, ONE, TWO],
            2,
            [('victims', ['failed', 'one', 'two'], 1), ('zones', ['failed', 'one'], 1)],
            {'failed': 'new', 'one': 'az1'},
        ),
        ([ONE], 0, [('victims', ['one'], 1)], {}),
    ],
    ids=['growth', 'shrinkage', 'same size', 'failed', 'failed after victims', 'none left'],
)
def test_plan_asks_for_victims_and_then_for_the_zones_of_new_and_failed_members(
    members, size, asked, zones
):
    """Existing members keep their zones, except those that Heat creates again."""
    chooser = Chooser()
    names = (f'new{i}' for i in itertools.count(1))

    result = plan(members, size, chooser, names.__next__)

    assert chooser.asked == asked
    assert result.zones == zones
    assert result.created == [name for name in zones if name.startswith('new')]


def row(name, action='CREATE', status='COMPLETE', reason='state changed'):
    return {
        'resource_name': name,
        'resource_action': action,
        'resource_status': status,
        'resource_status_reason': reason,
        'creation_time': '2026-11-22T20:00:00Z',
        'updated_time': '2026-11-22T20:00:00Z',
    }


WHEN = datetime.datetime(2026, 11, 22, 20, tzinfo=datetime.UTC)


@dataclasses.dataclass
class Definition:
    """A definition with the methods of Heat's ResourceDefinition that the module uses."""

    properties: dict | None

    def render_hot(self):
        return {} if self.properties is None else {'properties': self.properties}

    def freeze(self, properties):
        return Definition(properties)


def read(*rows, names=('a',)):
    definitions = {
        name: Definition({'flavor': int(name != 'old'), 'availability_zone': 'az1'})
        for name in names
    }
    return plans.members_of(definitions, Definition({'flavor': 1}), rows)


def test_members_have_the_order_of_the_names():
    """Members keep Heat's order; rows of other names are ignored; a missing row is no failure."""
    members = read(row('b'), row('other'), row('a'), names=('a', 'old', 'b'))

    assert list(members) == [
        Member('a', 'az1', created_at=WHEN, updated_at=WHEN),
        Member('old', 'az1', is_outdated=True),
        Member('b', 'az1', created_at=WHEN, updated_at=WHEN),
    ]


@pytest.mark.parametrize(
    ('action', 'status', 'needs_zone'),
    [
        ('CREATE', 'FAILED', True),
        ('CHECK', 'FAILED', True),
        ('CHECK', 'COMPLETE', False),
        *((name, 'FAILED', False) for name in ('UPDATE', 'SUSPEND', 'RESUME', 'DELETE', 'INIT')),
    ],
)
def test_member_that_heat_creates_again_alone_needs_a_zone(action, status, needs_zone):
    """A member that may exist keeps its zone, since another one would replace its server."""
    (member,) = read(row('a', action, status, 'why'))

    assert member.needs_zone == needs_zone
    assert member.failed == (status == 'FAILED')
    assert member.reason == ('why' if member.failed else None)


@pytest.mark.parametrize(
    ('weights', 'members', 'count', 'zones'),
    [
        (
            {'az1': None, 'az2': 100},
            [Member('a', 'az1'), Member('b', 'az1'), Member('c', 'unlisted')],
            3,
            ['az2', 'az2', 'az1'],
        ),
        ({'az1': None, 'az2': 100}, [FAILED], 1, ['az1']),
        ({'az1': 100, 'az2': 300}, [], 4, ['az2', 'az1', 'az2', 'az2']),
        ({}, [], 2, ['', '']),
    ],
    ids=['balanced', 'failed takes no room', 'weights', 'unknown zones'],
)
def test_local_zones_balance_by_weight_with_the_members_that_are_left(
    weights, members, count, zones
):
    """Without a worker, a new member goes to the zone that is farthest below its share."""
    listed = [
        {'name': name, **({'weight': weight} if weight else {})} for name, weight in weights.items()
    ]

    assert LocalChooser(listed).zones(members, count) == zones


def test_local_victims_are_the_first_members():
    """Without a worker, members leave in Heat's own order."""
    assert LocalChooser([]).victims([ONE, TWO, THREE], 2) == ALL[:2]


def old(name, zone, **more):
    return Member(name, zone, is_outdated=True, **more)


@pytest.mark.parametrize(
    ('members', 'created', 'order'),
    [
        ([old('a', 'az1'), old('b', 'az2'), old('c', 'az3')], {}, 'abc'),
        ([old('a', 'az1'), old('b', 'az2'), old('c', 'az3')], {'new': 'az1'}, 'bca'),
        ([old('a', 'az1'), old('b', 'az2'), Member('x', 'az1')], {}, 'bxa'),
        ([old('a', 'az1'), old('b', 'heavy'), old('c', 'heavy')], {}, 'bac'),
        ([old('a', 'az1'), old('b', 'az2'), old('f', 'az1', failed=True)], {}, 'fab'),
        ([old('a', 'gone'), old('b', None), old('c', 'az1')], {}, 'cab'),
    ],
    ids=['order of Heat', 'beside a new one', 'beside a renewed one', 'weight', 'failed', 'none'],
)
def test_renewal_ends_with_the_members_that_new_ones_make_superfluous(members, created, order):
    """Failed members come first, and the zones are balanced when the last ones are removed."""
    zones = {member.name: member.zone for member in members}
    weights = {'az1': 100, 'az2': 100, 'az3': 100, 'heavy': 300}

    assert renewal_order(members, weights, {**zones, **created}, list(created)) == list(order)


def test_renewal_has_no_victims():
    """Members that leave now are not renewed."""
    assert renewal_order([ONE, TWO], {'az2': 100}, {'two': 'az2'}, []) == ['two']


@pytest.mark.parametrize(
    ('properties', 'zone', 'has_zone'),
    [
        ({'availability_zone': 'az1'}, 'az1', True),
        (None, None, False),
        ({}, None, False),
        ({'availability_zone': None}, None, True),
        ({'availability_zone': {'get_param': 'zone'}}, None, True),
    ],
)
def test_zone_of_a_definition_is_the_text_of_the_property(properties, zone, has_zone):
    """A definition may have no properties at all, or a zone that is no text."""
    definition = Definition(properties)

    assert (plans.zone_of(definition), plans.has_zone(definition)) == (zone, has_zone)


def test_definition_in_another_zone_keeps_its_other_properties():
    """A member whose zone stays is not redefined, so Heat does not touch it."""
    definition = Definition({'flavor': '1', 'availability_zone': 'az1'})

    assert plans.in_zone(definition, 'az1') is definition
    moved = plans.in_zone(definition, 'az2').properties
    assert moved == {'flavor': '1', 'availability_zone': 'az2'}


ZONE = {'get_param': 'availability_zone'}


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
    assert plans.uses_zone(template) == expected
