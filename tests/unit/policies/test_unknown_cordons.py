"""Cordons of places that the cloud does not know: the log and the reply report them."""

import datetime
import logging

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.planning.places import Cordon
from placement_worker.policies.registry import Registry
from tests.factories import NOW, deletion_policy, nodes, region_policy, request, zone_policy

CLOUD = {
    'regions': {
        'East': {'zones': {'east-1': True, 'east-2': True}},
        'West': {'zones': {'west-1': True}},
    },
    'home_region': 'East',
}
UNTIL = NOW + datetime.timedelta(days=1)
BOTH = [region_policy('East', 'West'), zone_policy('east-1', 'west-1')]
ZONE = (
    'The cordon of zone eastt-1 has no effect in {}: there is no such zone (did you mean '
    '"east-1"?); there are {}; correct the cordon file{}'
)
OTHER = ', or name its region if another region has the zone'
OF_ZONE = ZONE.format('the home region', 'east-1, east-2', OTHER)
REGION = (
    'The cordon of {} has no effect: the cloud has no region Eats (did you mean "East"?); there '
    'are East, West; correct the cordon file'
)


class Recording:
    """A cloud that records its requests."""

    def __init__(self):
        self.cloud, self.requests = Inventory.parse(CLOUD, 'test'), []

    def acting_for(self, *_):
        return self

    def __getattr__(self, name):
        self.requests.append(name)
        return getattr(self.cloud, name)


@pytest.fixture
def warnings(caplog):
    """Return a function that checks a scale-out twice, for its warnings and those of the log."""
    caplog.set_level(logging.WARNING)

    def decide(policies, *cordons, action='CLUSTER_SCALE_OUT', cloud=None):
        endpoints = Endpoints(
            cloud or Inventory.parse(CLOUD, 'test'),
            Registry.installed(),
            now=lambda: NOW,
            cordons=lambda _: [Cordon(until=UNTIL, **one) for one in cordons],
        )
        asked = request(action, policies, nodes(**{'east-2': 2}))
        first, second = endpoints.policy_check(asked), endpoints.policy_check(asked)
        assert first['warnings'] == second['warnings']
        logged = [text for text in caplog.messages if text.startswith('The cordon of')]
        return first['warnings'], logged

    return decide


@pytest.mark.parametrize(
    ('policies', 'cordon', 'text'),
    [
        ([zone_policy('east-1')], {'zone': 'eastt-1'}, OF_ZONE),
        (
            BOTH,
            {'zone': 'eastt-1'},
            ZONE.format('region East, region West', 'east-1, east-2, west-1', OTHER),
        ),
        (
            BOTH,
            {'zone': 'eastt-1', 'region': 'East'},
            ZONE.format('region East', 'east-1, east-2', '').replace(
                'zone eastt-1 has', 'zone eastt-1 of region East has'
            ),
        ),
        ([region_policy('East')], {'region': 'Eats'}, REGION.format('region Eats')),
    ],
)
def test_cordon_of_an_unknown_place_of_a_policy_warns_in_log_and_reply(
    warnings, policies, cordon, text
):
    """A misspelled cordon leaves a place of the policy open; log and reply say so."""
    assert warnings(policies, cordon) == ([text], [text])


@pytest.mark.parametrize(
    ('policies', 'cordon', 'text'),
    [
        ([zone_policy('east-2')], {'zone': 'eastt-1'}, OF_ZONE),
        ([region_policy('West')], {'region': 'Eats'}, REGION.format('region Eats')),
        (BOTH, {'zone': 'east-1', 'region': 'Eats'}, REGION.format('zone east-1 of region Eats')),
    ],
)
def test_cordon_of_an_unknown_place_of_no_policy_warns_in_the_log_once(
    warnings, policies, cordon, text
):
    """A cordon that does not concern the cluster is reported to the operator alone."""
    assert warnings(policies, cordon) == ([], [text])


@pytest.mark.parametrize(
    ('policies', 'cordon'),
    [
        ([zone_policy('east-1', 'east-2')], {'zone': 'east-1'}),
        ([zone_policy('east-1')], {'zone': 'east-9', 'region': 'West'}),
        ([zone_policy('east-1')], {'region': 'Eats'}),
        (BOTH, {'zone': 'west-1'}),
        ([deletion_policy()], {'zone': 'east-9'}),
    ],
    ids=['known', 'other region', 'regions not requested', 'known elsewhere', 'nothing requested'],
)
def test_cordon_of_a_place_that_may_be_known_warns_of_nothing(warnings, policies, cordon):
    """A place in a part of the cloud that the check did not ask is not called unknown."""
    assert warnings(policies, cordon) == ([], [])


@pytest.mark.parametrize('policies', [[zone_policy('east-1')], BOTH], ids=['zones', 'both'])
def test_cordon_of_an_unknown_place_sends_no_request(warnings, policies):
    """The search for unknown places uses the responses that the policies requested."""
    usual, more = Recording(), Recording()

    warnings(policies, cloud=usual)
    warnings(policies, {'zone': 'eastt-1'}, cloud=more)

    assert more.requests == usual.requests
