"""The explanation of a deletion."""

from tests.factories import deletion_policy, node, request, zone_policy

SCALE_IN = 'CLUSTER_SCALE_IN'


def row(rank, node_id, place, reason, status):
    """Return the row of a node that is not tainted."""
    return {
        'rank': rank, 'id': node_id, 'place': place, 'reason': reason, 'status': status,
        'tainted': False,
    }  # fmt: skip


def test_full_explanation_ranks_each_victim_and_shows_the_first_spared(check):
    """A full explanation ranks all victims and the next nodes, each with its reason."""
    members = [
        node(1, 'a'),
        node(2, 'b', status='ERROR'),
        node(3, 'a'),
        node(4, 'b', created_at=None),
    ]
    policies = [zone_policy('a', 'b'), deletion_policy()]

    reply = check(
        request(SCALE_IN, policies, members, inputs={'count': 3}, explain='full'), zones=['a', 'b']
    )

    assert reply['decisions'][1]['details'] == {
        'reasons': {'never created': 1, 'oldest': 1, 'unhealthy': 1},
        'victims': [
            row(1, 'n2', 'b', 'unhealthy', 'ERROR'),
            row(2, 'n4', 'b', 'never created', 'ACTIVE'),
            row(3, 'n1', 'a', 'oldest in a', 'ACTIVE'),
        ],
        'spared': [row(4, 'n3', 'a', 'oldest', 'ACTIVE')],
    }
