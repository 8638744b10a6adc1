"""Commands of placement-policy, and files to run them on."""

from placement_worker.cmd.cli import SUMMARIES
from tests.factories import bind, deletion_policy, nodes, request, zone_policy

COMMANDS = sorted(SUMMARIES)
GOOD = request('CLUSTER_SCALE_IN', [zone_policy('az1'), deletion_policy()], nodes(az1=2))
FILES = {
    'bad': 'a: [',
    'binary': b'\xff\xfe\0',
    'empty': '',
    'text': 'hello',
    'keys': {'taget': 1},
    'scenario': {'titel': 1},
    'good': GOOD,
    'bind': bind(zone_policy('az1')),
    'spec': zone_policy('az1')['spec'],
}
