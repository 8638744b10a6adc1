"""A plan that cannot be made says how many nodes were asked for and how many are possible."""

from tests.factories import node, region_policy, request


def test_check_of_a_full_region_shows_that_no_node_is_possible(program):
    """The table says `possible: 0` if not one node can be created."""
    policy = region_policy('R1')
    policy['spec']['properties']['regions'][0]['cap'] = 1
    asked = request('CLUSTER_SCALE_OUT', [policy], [node(1, None, 'R1')], inputs={'count': 2})

    status, out, _ = program(
        'check', '--cloud', 'cloud', 'full', full=asked, cloud={'regions': ['R1']}
    )

    assert status == 1
    assert '    asked: 2\n    possible: 0\n' in out
