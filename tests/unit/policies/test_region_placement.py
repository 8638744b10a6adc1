"""The region placement policy, checked through the chain."""

from tests.factories import node, region_policy, request


def regional(**counts):
    named = [region for region, count in counts.items() for _ in range(count)]
    return [node(number, None, region) for number, region in enumerate(named, start=1)]


def capped(policy, *caps):
    for region, cap in zip(policy['spec']['properties']['regions'], caps, strict=True):
        region['cap'] = cap
    return policy


def test_creation_has_counts_by_region_and_one_entry_per_node(check):
    """A creation has the count of each region and one placement entry per node."""
    reply = check(
        request(
            'CLUSTER_SCALE_OUT', [region_policy('R1', 'R2')], regional(R1=1), inputs={'count': 3}
        ),
        regions=['R1', 'R2'],
    )

    data = reply['action']['data']
    assert data['creation'] == {'count': 3, 'regions': {'R1': 1, 'R2': 2}}
    assert data['placement']['placements'] == [
        {'region_name': 'R2'},
        {'region_name': 'R1'},
        {'region_name': 'R2'},
    ]


def test_creation_respects_the_caps_of_regions(check):
    """Nodes above a cap go to other regions; with all regions full, the check ends in ERROR."""
    policy = capped(region_policy('R1', 'R2'), 2, 3)

    fits = check(request('CLUSTER_SCALE_OUT', [policy], inputs={'count': 5}), regions=['R1', 'R2'])
    full = check(request('CLUSTER_SCALE_OUT', [policy], inputs={'count': 6}), regions=['R1', 'R2'])

    assert fits['action']['data']['creation']['regions'] == {'R1': 2, 'R2': 3}
    assert full['action']['data'] == {
        'status': 'ERROR',
        'reason': 'There is no feasible plan to handle all nodes.',
    }


def test_creation_without_a_known_region_is_an_error(check):
    """A spec whose regions Keystone does not know ends the check in ERROR."""
    reply = check(request('CLUSTER_SCALE_OUT', [region_policy('R1')]), regions=['R9'])

    assert reply['action']['data']['reason'] == 'No region is found usable.'


def test_deletion_takes_nodes_of_a_region_unknown_to_keystone_first(check):
    """Nodes in a region that Keystone no longer knows are deleted first."""
    reply = check(
        request('CLUSTER_SCALE_IN', [region_policy('R1', 'R2')], regional(R1=3, R2=1)),
        regions=['R1'],
    )

    assert reply['action']['data']['deletion'] == {'count': 1, 'regions': {'R2': 1}}


def test_node_create_with_a_region_in_its_profile_is_skipped(check):
    """The policy leaves a new node in the region that its profile names."""
    profile = {'type': 'any', 'properties': {'context': {'region_name': 'R2'}}}

    reply = check(
        request('NODE_CREATE', [region_policy('R1')], node=node(9, profile=profile)), regions=['R1']
    )

    assert [(d['outcome'], d['reason']) for d in reply['decisions']] == [
        ('SKIPPED', 'The profile asks for region R2.')
    ]


def test_region_placement_supports_any_profile_type(check):
    """The policy plans for clusters of any profile type."""
    reply = check(
        request('CLUSTER_SCALE_OUT', [region_policy('R1')], profile={'type': 'os.heat.stack-1.0'}),
        regions=['R1'],
    )

    assert reply['decisions'][0]['outcome'] == 'APPLIED'
