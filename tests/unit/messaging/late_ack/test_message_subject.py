"""The action and the cluster of a message."""

import json

import pytest

from placement_worker.messaging.late_ack import message_subject
from tests.factories import request


@pytest.mark.parametrize('encode', [json.dumps, dict])
def test_subject_of_a_check_names_action_and_cluster(encode):
    """A message names its action and its cluster in both forms of a request."""
    asked = request('CLUSTER_RESIZE', [])
    message = {'method': 'policy_check', 'args': {'request': encode(asked)}}

    assert message_subject.of_message(message) == (
        f'BEFORE CLUSTER_RESIZE {asked["action"]["id"]!r} of cluster {asked["cluster"]["id"]!r}: '
    )


@pytest.mark.parametrize(
    'message',
    [
        {},
        {'args': 7},
        {'args': {}},
        {'args': {'request': '[[[['}},
        {'args': {'request': '[' * 5000}},
    ],
)
def test_subject_of_a_malformed_message_is_empty(message):
    """A message that cannot be decoded neither fails nor is named."""
    assert message_subject.of_message(message) == ''
