"""The errors that mean that a place has no room."""

import pytest

from placement_worker.planning.capacity_errors import PHRASES, means_no_capacity

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
        'Maximum number of ports exceeded',
        'Image 6f0c could not be found.',
        IN_SENLIN.format('Build of instance s1 aborted: Failed to allocate the network'),
        'Failed in creating server: Server:s1 transitioned to failure state ERROR.',
    ],
)
def test_other_failure_does_not_mean_no_capacity(reason):
    """Other failures, and every quota, say nothing about the room of a place."""
    assert not means_no_capacity(reason)


def test_each_phrase_has_a_public_source():
    """A reader can open the source of each phrase; phrases are in lower case."""
    for phrase, source in PHRASES.items():
        assert phrase == phrase.lower()
        assert source.startswith('https://opendev.org/openstack/nova/src/tag/')
