"""Requests to attach and to detach policies."""

import json

import pytest

from placement_worker.errors import InvalidSpec, PolicyTypeNotFound
from tests.factories import bind, zone_policy


def test_policy_attach_of_a_policy_without_resources_stores_nothing(endpoints, outbox):
    """Attaching and detaching such policies stores no data, and is notified."""
    asked = bind(zone_policy('a', data={'kept': 1}))

    reply = endpoints.policy_attach(asked, 'req-1')
    back = json.loads(endpoints.policy_detach(json.dumps(asked)))

    policy = {'id': 'pol-zone_placement', 'data': {'kept': 1}}
    unchanged = {'warnings': [], 'cluster': None, 'nodes': {}}
    assert reply == {'status': 'OK', 'reason': 'Policy attached.', 'policy': policy, **unchanged}
    assert back == {**reply, 'reason': 'Policy detached.'}
    common = {
        'id': 'pol-zone_placement',
        'name': 'zone_placement',
        'type': 'senlin.policy.zone_placement-1.0',
    }
    assert outbox.sent[:2] == [
        ('policy_attach.start', {'request_id': 'req-1', 'cluster': {'id': 'c1'}, 'policy': common}),
        ('policy_attach.end', {**reply, 'request_id': 'req-1', 'cluster': {'id': 'c1'}}),
    ]


@pytest.mark.parametrize(
    'spec',
    [
        zone_policy(('a', -1))['spec'],
        {'type': 'senlin.policy.region_placement', 'version': '7', 'properties': {}},
        {'type': 'senlin.policy.deletion', 'version': '2.0', 'properties': {'criteria': 'NEWEST'}},
    ],
)
def test_policy_detach_with_an_invalid_spec_works_but_attach_is_refused(endpoints, spec):
    """A policy of an installed type is detached without a spec that fits; attaching is refused."""
    asked = bind({'id': 'pol-1', 'spec': spec, 'data': {'kept': 1}})

    with pytest.raises((InvalidSpec, PolicyTypeNotFound)):
        endpoints.policy_attach(asked)
    reply = endpoints.policy_detach(asked)

    assert (reply['status'], reply['policy']) == ('OK', {'id': 'pol-1', 'data': {'kept': 1}})


def test_policy_attach_to_an_unsupported_profile_type_fails_but_detach_works(endpoints):
    """A policy can be detached from, but not attached to, an unsupported profile type."""
    asked = bind(zone_policy('a'), profile={'type': 'os.heat.stack-1.0'})

    reply = endpoints.policy_attach(asked)

    reason = 'Policy not applicable on profile type: os.heat.stack-1.0'
    assert (reply['status'], reply['reason']) == ('ERROR', reason)
    assert endpoints.policy_detach(asked)['status'] == 'OK'


@pytest.mark.parametrize('data', [{}, {'SomePolicy': {'version': '1.0', 'data': {}}}])
def test_policy_detach_of_an_unknown_type_is_refused(endpoints, data):
    """A policy whose type cannot be found is not reported as detached."""
    spec = {'type': 'senlin.policy.loadblance', 'version': '1.1', 'properties': {}}

    with pytest.raises(PolicyTypeNotFound, match='did you mean `senlin'):
        endpoints.policy_detach(bind({'id': 'pol-1', 'spec': spec, 'data': data}))


def test_policy_attach_after_its_expiry_or_malformed_does_nothing(endpoints, outbox):
    """An expired or malformed attachment changes nothing."""
    asked = bind(zone_policy('a'), expires_at='2026-01-01T11:59:59Z')

    assert endpoints.policy_attach(asked)['reason'] == 'Request expired'
    with pytest.raises(InvalidSpec, match=r'at `\$\.policy\.spec\.properties'):
        endpoints.policy_attach(bind(zone_policy(('a', -1))), 'req-1')
    assert outbox.sent[-1][:2] == ('policy_attach.error', 'InvalidSpec')
