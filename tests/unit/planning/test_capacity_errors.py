"""The errors that mean that a place has no room."""

import re

import pytest

from placement_worker.planning.capacity_errors import PHRASES, QUOTA_PHRASES, means_no_capacity

IN_SENLIN = 'Failed in creating server: Server:s1 transitioned to failure state ERROR: {}.'


@pytest.mark.parametrize(
    'fault',
    [
        'No valid host was found. There are not enough hosts available.',
        'No valid host was found. ',
        'NoValidHost',
        'Exceeded maximum number of retries. Exhausted all hosts available for retrying build '
        'failures for instance 6f0c.',
        'Insufficient compute resources: Free memory 512.00 MB < requested 1024 MB.',
        'No valid host was found. Image quota_service needs an aggregate.',
        'Exceeded maximum number of retries. Exhausted all hosts, the last one was quota-1.',
    ],
)
@pytest.mark.parametrize('sentence', ['{}', IN_SENLIN, 'ResourceInError: {}'])
def test_text_of_nova_means_no_capacity_in_any_sentence(fault, sentence):
    """The texts of Nova are recognized alone, and inside the sentences of engines."""
    assert means_no_capacity(sentence.format(fault))


@pytest.mark.parametrize(
    'reason',
    [
        None,
        '',
        'Quota exceeded for instances: Requested 1, but already used 10 of 10 instances',
        'No valid host was found. Quota exceeded for cores',
        "No valid host was found. Quota exceeded for resources: ['port'].",
        'No valid host was found. Maximum number of ports exceeded',
        'Exceeded maximum number of retries. Project 6f0c is over a limit for cores',
        'No valid host was found. VolumeSizeExceedsAvailableQuota: Requested volume or snapshot '
        'exceeds allowed gigabytes quota. Requested 9G, quota is 5G and 0G has been consumed.',
        "No valid host was found. Maximum number of volumes allowed (5) exceeded for quota 'x'.",
        'Image 6f0c could not be found.',
        IN_SENLIN.format('Build of instance s1 aborted: Failed to allocate the network'),
        'Failed in creating server: Server:s1 transitioned to failure state ERROR.',
    ],
)
def test_other_failure_does_not_mean_no_capacity(reason):
    """Other failures, and the errors of quotas, say nothing about the room of a place."""
    assert not means_no_capacity(reason)


def test_each_phrase_has_a_public_source():
    """A reader can open the source of each phrase; phrases are in lower case."""
    for phrase, source in (PHRASES | QUOTA_PHRASES).items():
        assert phrase == phrase.lower()
        assert re.match(r'https://opendev\.org/openstack/[\w.-]+/src/tag/.*#L\d+$', source)
