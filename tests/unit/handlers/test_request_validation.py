"""Rules of requests that their types do not express."""

import msgspec
import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract import codec
from placement_worker.contract.model import CheckRequest, Cluster
from placement_worker.errors import InvalidRequest
from placement_worker.handlers.request_validation import (
    KNOWN_STATUSES,
    misspelled_statuses,
    validate_check,
    validate_policies,
)
from placement_worker.handlers.service import Endpoints
from tests.factories import deletion_policy, node, nodes, request, zone_policy


def check(action, members=(), **more):
    return msgspec.convert(request(action, [], list(members), **more), CheckRequest)


@pytest.mark.parametrize(
    'placement', [None, {}, {'zone': None}, {'region_name': '', 'zone': 'a', 'host': {'x': 1}}]
)
def test_validate_check_of_any_well_formed_placement_passes(placement):
    """Parts of a placement may be absent or null, and other keys belong to the engine."""
    placed = node(1, data={'placement': placement})

    validate_check(check('NODE_DELETE', [placed], node=placed))


def test_validate_policies_with_an_id_twice_names_the_second():
    """The error about an id that two policies have has the path of the second one."""
    bound = [zone_policy('a'), deletion_policy(), {**zone_policy('b'), 'enabled': False}]
    asked = msgspec.convert(request('CLUSTER_SCALE_IN', bound, []), CheckRequest)

    for validate, value in ((validate_check, asked), (validate_policies, asked.policies)):
        with pytest.raises(InvalidRequest) as refused:
            validate(value)
        assert str(refused.value) == (
            'Expected each policy once, got `pol-zone_placement` again - at `$.policies[2].id`'
        )


WITHOUT_VERSION = {'id': 'p', 'type': 'os.nova.server'}


def warnings(check, *args, zones=('a',), **more):
    """Return the warnings of the reply to a check."""
    return check(request(*args, **more), zones=zones)['warnings']


@pytest.mark.parametrize(
    ('status', 'meant'),
    [('EROR', 'ERROR'), ('error', 'ERROR'), ('ERR', 'ERROR'), ('WARN', 'WARNING')],
)
def test_status_that_resembles_an_unhealthy_one_is_a_warning(check, status, meant):
    """A node that counts as healthy by a misspelled status is named to an operator."""
    members = [node(1, 'a', status=status), node(2, 'a', status=status), node(3, 'a')]

    assert warnings(check, 'CLUSTER_SCALE_IN', [deletion_policy()], members) == [
        f'Nodes count as healthy whose status is {status} (did you mean {meant}?)'
    ]


@pytest.mark.parametrize(
    'status', ['', *KNOWN_STATUSES, 'WAITING', 'RUNNING', 'CREATE_COMPLETE', 'FAILED']
)
def test_status_of_senlin_or_of_another_engine_is_no_misspelling(status):
    """An engine may have statuses of its own."""
    cluster = request('', (), [node(1, status=status)])['cluster']

    assert misspelled_statuses(codec.decode(cluster, Cluster).nodes) is None


def test_misspelled_status_in_a_rebalance_is_a_warning(registry):
    """The plan of a rebalance moves unhealthy nodes first, so a misspelling matters there, too."""
    cluster = request('', (), [node(1, 'a', status='EROR')])['cluster']
    worker = Endpoints(Inventory.parse({'zones': {'a': True}}, 'test'), registry)

    reply = worker.policy_rebalance({'cluster': cluster, 'policies': [zone_policy('a')]})

    assert reply['warnings'] == [
        'Nodes count as healthy whose status is EROR (did you mean ERROR?)'
    ]


@pytest.mark.parametrize('policies', [[], [zone_policy('a')]], ids=['none', 'zones'])
def test_resize_with_a_number_of_no_type_is_a_warning(check, policies):
    """A resize whose number has no meaning does not pass without a sign."""
    found = warnings(check, 'CLUSTER_RESIZE', policies, nodes(a=2), inputs={'number': 5})

    assert found == [
        'The resize ignores `inputs.number`, because `inputs.adjustment_type` is missing'
    ]


@pytest.mark.parametrize(
    ('action', 'more'),
    [
        ('CLUSTER_RESIZE', {'inputs': {'number': None, 'adjustment_type': None, 'min_size': 1}}),
        ('CLUSTER_RESIZE', {'inputs': {'number': 2, 'adjustment_type': 'EXACT_CAPACITY'}}),
        ('CLUSTER_RESIZE', {'inputs': {'number': 5}, 'target': 'AFTER'}),
        ('CLUSTER_OPERATION', {'inputs': {'number': 5}}),
    ],
    ids=['bounds', 'sized', 'after', 'other action'],
)
def test_number_that_is_no_mistake_is_no_warning(check, action, more):
    """Only the check BEFORE a resize warns of a number without its type."""
    found = warnings(check, action, [], nodes(a=2), **more)

    assert not [one for one in found if 'inputs.number' in one]


def test_profile_type_without_its_version_is_a_warning(check):
    """Policies that a common mistake skips are named to an operator."""
    policies = [zone_policy('a'), deletion_policy()]

    found = warnings(check, 'CLUSTER_SCALE_IN', policies, nodes(a=2), profile=WITHOUT_VERSION)

    assert found == [
        'Profile type os.nova.server has no version (did you mean os.nova.server-1.0?): policy '
        'zone_placement was skipped'
    ]


@pytest.mark.parametrize(
    ('action', 'profile'),
    [
        ('CLUSTER_SCALE_OUT', {'id': 'p', 'type': 'os.heat.stack-1.0'}),
        ('CLUSTER_CHECK', WITHOUT_VERSION),
    ],
    ids=['other type', 'other action'],
)
def test_profile_type_that_matters_to_no_policy_is_no_warning(check, action, profile):
    """A policy may support no profile type of a kind, or have nothing to decide."""
    assert not warnings(check, action, [zone_policy('a')], nodes(a=2), profile=profile)
