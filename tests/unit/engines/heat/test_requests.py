"""The requests for a group; `test_worker_choice` has the decisions about them."""

import datetime

from placement_worker.contract.model import Credentials
from placement_worker.engines.heat import requests
from placement_worker.engines.heat.members import Member

NOW = datetime.datetime(2026, 11, 22, 20, tzinfo=datetime.UTC)
PLACEMENT = {'zones': [{'name': 'az1'}], 'deletion': {'criteria': 'RANDOM'}}
GROUP = requests.Group('id', 'stack/group', None, None, PLACEMENT, Credentials())


def node(member):
    (found,) = requests.growth(GROUP, [member], 1).cluster.nodes
    return found


def test_growth_and_shrinkage_name_their_count():
    """Both requests have the number of members to create or to remove."""
    growth, shrinkage = requests.growth(GROUP, [], 2), requests.shrinkage(GROUP, [], 3)

    assert (growth.action.action, growth.action.inputs) == ('CLUSTER_SCALE_OUT', {'count': 2})
    assert (shrinkage.action.action, shrinkage.action.inputs) == ('CLUSTER_SCALE_IN', {'count': 3})


def test_each_request_has_an_action_of_its_own():
    """Random choices differ between requests, since the id of the action seeds them."""
    assert requests.growth(GROUP, [], 1).action.id != requests.growth(GROUP, [], 1).action.id


def test_complete_member_is_an_active_node_in_its_zone():
    """A complete member has its zone in its data and no reason."""
    found = node(Member('a', 'az1', created_at=NOW, updated_at=NOW))

    assert (found.status, found.status_reason, found.updated_at) == ('ACTIVE', None, None)
    assert found.data == {'placement': {'zone': 'az1'}}
    assert found.created_at == NOW


def test_member_to_create_again_is_a_node_in_error_that_was_never_created():
    """A member that Heat creates again has the cause and its time, as capacity checks need them."""
    found = node(Member('a', 'az1', True, 'full', needs_zone=True, created_at=NOW, updated_at=NOW))

    assert (found.status, found.status_reason, found.updated_at) == ('ERROR', 'full', NOW)
    assert found.created_at is None


def test_member_without_zone_has_no_placement():
    """A member without a zone proves nothing about zones."""
    assert node(Member('a', None)).data == {}


def test_outdated_member_is_tainted():
    """An outdated member leaves before current ones."""
    assert node(Member('a', 'az1', is_outdated=True)).tainted
