"""The action and the cluster of a request, for the log."""

import json

import pytest

from placement_worker.handlers import request_subject

FULL = "BEFORE CLUSTER_RESIZE 'a1' of cluster 'c1': "
REQUEST = {
    'target': 'BEFORE',
    'action': {'id': 'a1', 'action': 'CLUSTER_RESIZE'},
    'cluster': {'id': 'c1', 'nodes': [1, 2]},
    'policies': 'none',
}
LONG = 'x' * 1000


def of_request(raw, is_text, max_bytes=10_000):
    return request_subject.of_request(json.dumps(raw) if is_text else raw, max_bytes)


@pytest.mark.parametrize('is_text', [True, False])
@pytest.mark.parametrize(
    ('raw', 'expected'),
    [
        (REQUEST, FULL),
        ({'cluster': {'id': 'c1'}, 'policy': {}}, "Cluster 'c1': "),
        ({'action': {'id': 'a1'}}, "'a1': "),
        ({**REQUEST, 'action': [1]}, "Cluster 'c1': "),
        ({**REQUEST, 'target': 7}, "CLUSTER_RESIZE 'a1' of cluster 'c1': "),
        ({**REQUEST, 'cluster': {'id': 7}}, "BEFORE CLUSTER_RESIZE 'a1': "),
        ({**REQUEST, 'cluster': None}, "BEFORE CLUSTER_RESIZE 'a1': "),
        ({}, ''),
        ([], ''),
        (7, ''),
    ],
)
def test_subject_of_any_request_has_the_parts_that_can_be_decoded(raw, expected, is_text):
    """Action and cluster are named as far as the request names them, in both of its forms."""
    assert of_request(raw, is_text) == expected


@pytest.mark.parametrize('is_text', [True, False])
def test_subject_with_hostile_names_is_short_and_on_one_line(is_text):
    """A caller can neither forge a line nor flood the log."""
    name = '\n\x1b' + LONG
    raw = {
        'target': name,
        'action': {'id': name, 'action': name},
        'cluster': {'id': name},
    }

    found = of_request(raw, is_text)

    assert found.isprintable()
    assert 'xxx' in found
    assert len(found) < 500


@pytest.mark.parametrize('text', ['', '{', '{"cluster": {"id": "c1"', '[' * 100_000, '\ud800'])
def test_subject_of_invalid_json_is_empty(text):
    """A request that is not JSON has no subject, and raises nothing."""
    assert request_subject.of_request(text, 1_000_000) == ''


def test_subject_of_a_too_large_request_is_empty():
    """A request above the limit is not decoded."""
    assert of_request(REQUEST, is_text=True, max_bytes=10) == ''
