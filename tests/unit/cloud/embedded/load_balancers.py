"""Request bodies and lookups for tests of the Octavia simulator."""

TAGS = ['mine']
NESTED = {
    'name': 'lb',
    'tags': TAGS,
    'vip_subnet_id': 'sub1',
    'listeners': [
        {
            'protocol': 'HTTP',
            'protocol_port': 80,
            'default_pool': {
                'name': 'pool',
                'protocol': 'HTTP',
                'healthmonitor': {'type': 'PING'},
                'members': [{'address': '10.0.0.1', 'protocol_port': 80}],
            },
        }
    ],
}


def status(octavia, kind, object_id):
    return octavia.show(kind, object_id)['provisioning_status']


def member(number, **more):
    """Return the body of a member whose address ends in this number."""
    return {'address': f'10.0.0.{number}', 'protocol_port': 80, **more}
