"""Tests for the parts of a load balancer."""

from placement_worker.octavia.layout import Layout, tags_of

TAGS = tags_of('c1', 'p1')


def layout(monitor):
    return Layout(
        'web', TAGS, {'vip_subnet_id': 's'}, {'protocol': 'TCP'}, {'protocol': 'HTTP'}, monitor
    )


def test_tags_of_name_cluster_and_policy():
    """The tags identify the cluster and the policy."""
    assert TAGS == ['placement-worker:cluster=c1', 'placement-worker:policy=p1']


def test_nested_marks_every_part_with_name_and_tags():
    """The nested body contains all parts, each with name and tags."""
    marks = {'name': 'web', 'tags': TAGS}

    body = layout({'type': 'PING'}).nested()

    pool = {'protocol': 'HTTP', 'healthmonitor': {'type': 'PING', **marks}, **marks}
    listener = {'protocol': 'TCP', 'default_pool': pool, **marks}
    assert body == {'vip_subnet_id': 's', 'listeners': [listener], **marks}


def test_marked_omits_values_that_octavia_defaults():
    """A value of None is not sent, so that Octavia's default applies; other values are."""
    assert layout(None).marked({'flavor_id': None, 'admin_state_up': False}) == {
        'admin_state_up': False,
        'name': 'web',
        'tags': TAGS,
    }


def test_nested_without_monitor_omits_it():
    """The nested body has no health monitor unless the layout has one."""
    [listener] = layout(None).nested()['listeners']

    assert 'healthmonitor' not in listener['default_pool']
