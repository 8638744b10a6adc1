"""Warnings in replies: their sources, their texts, and where an operator sees them."""

import json
import logging

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.codec import decoder
from placement_worker.contract.model import BindReply, CheckReply
from placement_worker.decisions import replay
from placement_worker.decisions.records import DecisionLog, Entry
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.policies import base
from placement_worker.policies.deletion import Deletion
from placement_worker.policies.registry import Registry
from tests.factories import (
    bind,
    connected,
    deletion_policy,
    node,
    nodes,
    region_policy,
    request,
    zone_policy,
)
from tests.simulated_octavia import Lab

SCALE_IN, RESIZE = 'CLUSTER_SCALE_IN', 'CLUSTER_RESIZE'
EMPTIED = 'The action removes all 3 nodes of the cluster'


class Cautious(Deletion):
    interface = (2, 0)

    def check(self, request, state):
        return base.Outcome('APPLIED', 'careful', warnings=['Mind the gap'] * 2)

    def attach(self, request, state):
        return base.BindingOutcome({}, warnings=['Mind the step'])


@pytest.fixture
def cautious():
    """A worker whose deletion policy is `Cautious`."""
    return Endpoints(Inventory(), Registry([('senlin.policy.deletion-1.1', Cautious)]))


def resize(adjustment, number, **inputs):
    return {'adjustment_type': adjustment, 'number': number, **inputs}


def test_warnings_of_a_policy_stand_in_the_replies_and_in_the_log(cautious, caplog):
    """A warning of a policy is in the reply once, and in the log at WARNING."""
    checked = cautious.policy_check(asked(SCALE_IN))
    attached = cautious.policy_attach(bind(deletion_policy()))

    assert (checked['warnings'], attached['warnings']) == (['Mind the gap'], ['Mind the step'])
    assert [text for _, level, text in caplog.record_tuples if level == logging.WARNING] == [
        "BEFORE CLUSTER_SCALE_IN 'act-1' of cluster 'c1': Mind the gap",
        "policy_attach of senlin.policy.deletion of cluster 'c1': Mind the step",
    ]


def test_warnings_absent_from_the_reply_of_an_older_worker_are_none():
    """A client reads the reply of a worker that gives no warnings."""
    checked = b'{"action": {"id": "a", "data": {}}, "cluster": null, "nodes": {}, "decisions": []}'
    policy = b'{"id": "p", "data": {}}'
    bound = b'{"status": "OK", "reason": "", "policy": %b, "cluster": null, "nodes": {}}' % policy

    assert decoder(CheckReply).decode(checked).warnings == []
    assert decoder(BindReply).decode(bound).warnings == []


def test_warnings_stay_the_same_on_replay(registry):
    """A decision with a warning is replayed to the byte, as is one that an older worker logged."""
    lines = []
    endpoints = Endpoints(
        Inventory(), registry, WorkerSettings(recorder=DecisionLog(lines.append, None, {}))
    )
    reply = endpoints.policy_check(asked(SCALE_IN, inputs={'count': 3}))
    assert reply['warnings'] == [EMPTIED]
    older = json.loads(lines[0])
    del older['reply']['warnings']

    for line in (lines[0], json.dumps(older)):
        assert replay.differences(decoder(Entry).decode(line), registry) == []


DELETION = (deletion_policy(),)


def asked(action, policies=DELETION, count=3, **more):
    """Return a request for a cluster of some nodes in zone a."""
    return request(action, list(policies), nodes(a=count), **more)


def test_warning_of_a_resize_that_a_bound_changes_stands_in_the_reply_once(check):
    """Several policies that use a size give one warning; tests of the sizing have its texts."""
    policies = [zone_policy('a'), deletion_policy()]
    inputs = resize('CHANGE_IN_CAPACITY', -1, min_size=5)

    reply = check(asked(RESIZE, policies, inputs=inputs), ['a'])

    assert reply['action']['data']['status'] == 'OK'
    assert reply['warnings'] == [
        "The resize asks to remove 1 node; the request's min_size (5) reverses it to add 2 nodes"
    ]


@pytest.mark.parametrize(
    'sent',
    [
        asked(RESIZE, inputs=resize('EXACT_CAPACITY', 2)),
        asked(RESIZE, inputs=resize('EXACT_CAPACITY', 9), max_size=2, target='AFTER'),
        asked(RESIZE, data={'deletion': {'count': 1}}, max_size=2),
        asked(SCALE_IN, inputs={'count': 2}),
        asked('CLUSTER_SCALE_OUT', inputs={'count': 2}),
        asked('NODE_DELETE', count=1, node=node(1), cause='Derived Action'),
        asked('CLUSTER_DELETE'),
        asked('CLUSTER_REPLACE_NODES', count=1, inputs={'candidates': {'n1': 'n2'}}),
        asked(SCALE_IN, (), inputs={'count': 3}),
        asked(SCALE_IN, count=0, inputs={'count': 0}),
    ],
)
def test_warnings_of_a_size_that_is_as_asked_are_none(check, sent):
    """A check does not warn of a size as asked for, or if no policy decides on it."""
    reply = check(sent)

    assert (reply['action']['data']['status'], reply['warnings']) == ('OK', [])


LAST_ONE = 'The action removes the only node of the cluster'
TRIMMED = 'The action asks to remove 8 nodes, but the cluster has 3'


@pytest.mark.parametrize(
    ('sent', 'warnings'),
    [
        (asked(SCALE_IN, inputs={'count': 3}), [EMPTIED]),
        (asked(SCALE_IN, inputs={'count': 8}), [EMPTIED, TRIMMED]),
        (asked(SCALE_IN, data={'deletion': {'count': 8}}), [EMPTIED, TRIMMED]),
        (asked(SCALE_IN, [zone_policy('a')], inputs={'count': 3}), [EMPTIED]),
        (asked('CLUSTER_DEL_NODES', inputs={'candidates': ['n1', 'n2', 'n3']}), [EMPTIED]),
        (asked(RESIZE, inputs=resize('EXACT_CAPACITY', 0)), [EMPTIED]),
        (asked('NODE_DELETE', count=1, node=node(1)), [LAST_ONE]),
    ],
)
def test_warnings_of_an_emptied_cluster_and_of_a_trimmed_count(check, sent, warnings):
    """A check warns if it empties the cluster, or was to remove more nodes than there are."""
    assert check(sent, ['a'])['warnings'] == warnings


def test_warnings_of_a_trimmed_count_without_a_deletion_policy():
    """Load balancing that chooses the nodes itself warns as the deletion policy does."""
    lab = Lab()
    policy, members = lab.attached([connected(number) for number in (1, 2, 3)])

    reply = lab.check(request(SCALE_IN, [policy], members, inputs={'count': 8}))

    assert reply['warnings'] == [EMPTIED, TRIMMED]


def test_warnings_of_a_check_that_fails_are_those_of_its_cause(check):
    """A failed check warns of its cause, and of nothing that it does not do."""
    policies = [region_policy('none'), deletion_policy()]

    reply = check(request(SCALE_IN, policies, nodes(a=3), inputs={'count': 3}), regions=['R1'])

    assert reply['action']['data']['status'] == 'ERROR'
    assert reply['warnings'] == ['The cloud does not know region "none"; it has "R1"']


def test_warning_of_inputs_that_a_plugin_declares_is_none():
    """A plugin's policy type may read keys of its own, which descriptions and warnings name."""

    class Draining(Deletion):
        interface = (2, 0)
        inputs = frozenset({'drain_s'})

    endpoints = Endpoints(Inventory(), Registry([('senlin.policy.deletion-1.1', Draining)]))

    known = asked(SCALE_IN, inputs={'count': 1, 'drain_s': 9})
    assert endpoints.policy_check(known)['warnings'] == []
    assert endpoints.policy_check(asked(SCALE_IN, inputs={'darin_s': 9}))['warnings'] == [
        'Unknown input of CLUSTER_SCALE_IN: "darin_s" (did you mean "drain_s"?)'
    ]
    assert [one['inputs'] for one in endpoints.policy_type_list({})] == [['drain_s']]
