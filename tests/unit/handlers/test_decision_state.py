"""The conditions of a decision, and the state that policies start from."""

import datetime
import math

import msgspec
import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.contract.model import BindRequest, CheckRequest
from placement_worker.errors import CloudUnavailable, RequestExpired
from placement_worker.handlers.chain import links_of
from placement_worker.handlers.decision_state import (
    Conditions,
    seconds_left,
    state_for_binding,
    state_for_check,
)
from placement_worker.policies.registry import Registry
from tests.factories import bind, deletion_policy, nodes, request

NOW = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
CHECK = msgspec.convert(
    request('CLUSTER_SCALE_IN', [deletion_policy()], nodes(a=1), data={'kept': 1}), CheckRequest
)
LINKS = links_of(CHECK, Registry.installed())
BIND = msgspec.convert(bind(deletion_policy()), BindRequest)


class UnavailableClouds:
    def acting_for(self, credentials, project):
        raise CloudUnavailable('No cloud today')


def conditions(clouds=None, left_s=math.inf):
    return Conditions(clouds or Inventory(), OctaviaSettings(), 7, NOW, left_s=lambda: left_s)


@pytest.mark.parametrize(
    ('expires_at', 'left_s'),
    [
        (None, math.inf),
        (NOW + datetime.timedelta(seconds=5), 5),
        (NOW.replace(tzinfo=None), 0),
        (NOW - datetime.timedelta(seconds=5), -5),
    ],
)
def test_left_s_of_an_expiry_time(expires_at, left_s):
    """A request without an expiry time never expires; a time without a zone is in UTC."""
    assert seconds_left(expires_at, NOW) == left_s


def test_state_for_binding_of_an_unavailable_cloud_fails_on_its_first_use():
    """An unavailable cloud is an error only for a policy that uses it."""
    state = state_for_binding(BIND, conditions(UnavailableClouds()))

    with pytest.raises(CloudUnavailable, match='No cloud today'):
        _ = state.cloud.regions


@pytest.mark.parametrize('left_s', [0, -1])
def test_state_for_an_expired_request_is_rejected(left_s):
    """An expired request is rejected before any call to a cloud."""
    with pytest.raises(RequestExpired, match='Request expired'):
        state_for_check(CHECK, [], conditions(UnavailableClouds(), left_s))
    with pytest.raises(RequestExpired, match='Request expired'):
        state_for_binding(BIND, conditions(UnavailableClouds(), left_s))
