"""Keys of documents that the contract does not list."""

import time

import pytest

from placement_worker.contract import unknown_keys
from placement_worker.contract.model import CheckRequest
from tests.factories import deletion_policy, node, nodes, request

GOOD = request('CLUSTER_SCALE_IN', [deletion_policy()], nodes(a=2))


def test_found_in_nested_objects_names_paths_and_nearest_keys():
    """Each unknown key has the path of its object, and the nearest known key as a hint."""
    document = {**GOOD, 'dryrun': True, 'cluster': {**GOOD['cluster'], 'nodes': [{'idd': 'n1'}]}}

    found = [str(key) for key in unknown_keys.found(document, CheckRequest)]

    assert found == [
        '`$.cluster.nodes[0].idd` (did you mean `id`?)',
        '`$.dryrun` (did you mean `dry_run`?)',
    ]


def test_found_in_free_form_maps_and_excerpts_is_empty():
    """Free-form maps and excerpts of objects of others may have any key."""
    document = request('CLUSTER_SCALE_IN', [], nodes(a=1), inputs={'any': 1}, data={'other': 2})
    document['cluster']['profile']['properties'] = {'flavor': 'm1'}

    assert list(unknown_keys.found(document, CheckRequest)) == []


@pytest.mark.parametrize(
    ('key', 'meant'),
    [
        ('placment', 'placement'),
        ('placements', 'placement'),  # the key of an action's plan
        ('Placement', 'placement'),
        ('lb-member', 'lb_member'),
        ('lb_memeber', 'lb_member'),
        ('lb_menbers', 'lb_members'),
        ('protect', 'protected'),  # a node that its owner believes to be protected
        ('proteced', 'protected'),
    ],
)
def test_found_in_the_data_of_a_node_names_misspelled_keys(key, meant):
    """A key of a node's data that is almost one that policies read is an error."""
    wrong = node(1, data={key: None})
    document = request('NODE_DELETE', [], [node(2), wrong], node=wrong)

    found = [str(key) for key in unknown_keys.found(document, CheckRequest)]

    assert found == [
        f'`{path}.data.{key}` (did you mean `{meant}`?)'
        for path in ('$.action.node', '$.cluster.nodes[1]')
    ]


@pytest.mark.parametrize(
    'key',
    [
        'lb', 'lb_member', 'lb_member_id', 'lb_member_ids', 'lb_members', 'lb_pool', 'place',
        'placement', 'placement_group', 'placement_id', 'protected', 'protected_by', 'protection',
        'recovery', 'replacement', 'unprotected', 'x' * 10_000, '', 7, None,
    ],
)  # fmt: skip
def test_found_in_the_data_of_a_node_allows_keys_of_others(key):
    """The data of a node are free-form: a key with another meaning is allowed."""
    document = request('CLUSTER_SCALE_IN', [], [node(1, data={key: None})])

    assert list(unknown_keys.found(document, CheckRequest)) == []


def test_described_without_unknown_keys_is_empty():
    """A document with known keys only has an empty description."""
    assert unknown_keys.described(GOOD, CheckRequest) == ''


def test_described_with_a_million_unknown_keys_compares_only_the_first():
    """Only the keys that the description names are compared with the known ones."""
    strange = {f'target{i}': 1 for i in range(1_000_000)}
    started = time.thread_time()

    described = unknown_keys.described({**GOOD, **strange}, CheckRequest)

    assert described.endswith('`$.target4` (did you mean `target`?) and 999995 more')
    assert time.thread_time() - started < 10


def test_described_with_a_long_key_is_short():
    """The description repeats a bounded part of a key."""
    assert len(unknown_keys.described({**GOOD, 'x' * 10_000: 1}, CheckRequest)) < 200
