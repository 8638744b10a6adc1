"""The commands `attach` and `detach`, and load balancing on the command line."""

import json
from pathlib import Path

import msgspec
import pytest
import yaml

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / 'examples' / 'load-balancing'


@pytest.fixture
def balanced(program):
    """Run a command over the cloud of the examples, whose load balancers are ready at once."""
    cloud = yaml.safe_load((EXAMPLES / 'cloud.yaml').read_text())
    cloud['load_balancer']['pending_s'] = 0

    def command(name, request, *more, fail=()):
        described = {**cloud, 'load_balancer': {**cloud['load_balancer'], 'fail': list(fail)}}
        files = {'cloud.yaml': described}
        if not isinstance(request, str):
            request, files['request.json'] = 'request.json', request
        path = str(EXAMPLES / request) if request not in files else request
        return program(name, '--cloud', 'cloud.yaml', path, *more, **files)

    return command


def kept():
    """Return the content of the embedded cloud's file."""
    return msgspec.json.decode(Path('load-balancers.json').read_bytes())['']


def member_names():
    (pool,) = kept()['members'].values()
    members = [one for one in pool.values() if one['provisioning_status'] != 'PENDING_DELETE']
    return sorted(member['name'] for member in members)


def test_examples_in_sequence_attach_scale_and_detach(balanced):
    """The shipped examples of load balancing work one after the other."""
    status, out, err = balanced('attach', 'attach.yaml')
    assert (status, err) == (0, '')
    assert out.splitlines()[:2] == [
        'balance (senlin.policy.loadbalance-1.1), cluster web (3 nodes): OK',
        'Policy attached.',
    ]
    shown = dict(line.strip().split(': ') for line in out.splitlines()[2:6])
    (binding, *_) = yaml.safe_load((EXAMPLES / 'scale-out.yaml').read_text())['policies']
    assert shown == binding['data']['LoadBalancingPolicy']['data']

    status, out, err = balanced('check', 'scale-out.yaml')
    assert (status, err) == (0, '')
    assert '    2 added\n' in out
    assert 'To create' not in out, 'they are there already'
    assert '    updates: 1\n' in out
    assert member_names() == ['web-1', 'web-2', 'web-3', 'web-4', 'web-5']

    status, out, err = balanced('check', 'scale-in.yaml')
    assert (status, err) == (0, '')
    assert '    3 removed\n' in out
    assert '    candidates: n4, n5, n2\n' in out
    assert member_names() == ['web-1', 'web-3']

    status, out, err = balanced('detach', 'detach.yaml')
    assert (status, err) == (0, '')
    assert 'Policy detached.\n    changed data of 2 nodes\n' in out
    balanced('detach', 'detach.yaml')  # what was pending ends at the next look
    assert not any(
        kept()[kind] for kind in ('loadbalancer', 'listener', 'pool', 'healthmonitor', 'members')
    )


def test_check_with_dry_run_reports_the_updates_and_writes_nothing(balanced):
    """A dry run reports the cost of the change, and leaves the cloud unchanged."""
    balanced('attach', 'attach.yaml')
    asked = {**yaml.safe_load((EXAMPLES / 'scale-out.yaml').read_text()), 'dry_run': True}
    before = kept()

    status, out, _ = balanced('check', json.loads(msgspec.json.encode(asked)))

    assert status == 0
    assert '    2 to be added, in 1 update; nothing was written\n' in out
    assert kept() == before


@pytest.mark.parametrize(
    ('fault', 'status', 'words'),
    [
        ({'call': 'create', 'kind': 'loadbalancer', 'status': 501}, 0, 'Policy attached.'),
        ({'call': 'update_members', 'status': 0, 'done': True}, 0, 'Policy attached.'),
        ({'call': 'create', 'kind': 'loadbalancer', 'status': 403}, 1,
         'Octavia responded with status 403: POST /v2/lbaas/loadbalancers: Quota has been met'),
        ({'call': 'update_members', 'becomes': 'ERROR'}, 1, 'is in ERROR'),
    ],
)  # fmt: skip
def test_attach_with_a_simulated_fault_leaves_one_load_balancer(balanced, fault, status, words):
    """A failed attachment can be repeated without a second load balancer."""
    code, out, _ = balanced('attach', 'attach.yaml', fail=[fault])

    assert code == status
    assert words in out
    balanced('attach', 'attach.yaml')  # adopts what is there
    assert len(kept()['loadbalancer']) == 1
