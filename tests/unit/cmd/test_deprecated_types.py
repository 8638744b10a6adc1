"""The notes of `placement-policy validate` about deprecated policy types."""

import pytest
import yaml

from placement_worker.contract.model import SupportStatus
from placement_worker.errors import WorkerFailed
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies import plugins
from tests.factories import region_policy, zone_policy
from tests.unit.policies.good_policy import Good


def test_validate_of_a_deprecated_version_is_valid_with_a_note(run, monkeypatch):
    """The author of a spec learns before its use that the type will disappear."""
    status = {'1.0': [SupportStatus('DEPRECATED', '2026.11')]}
    old = type('Old', (Good,), {'interface': (2, 0), 'support_status': status})
    monkeypatch.setattr(plugins, 'installed', lambda: [('test.good-1.0', old)])

    status, _, err = run('validate', 'f', f='type: test.good\nversion: 1.0')

    assert (status, err) == (
        0,
        'placement-policy validate: f: Policy type test.good-1.0 is DEPRECATED since 2026.11; use '
        'another version or another type\n',
    )


@pytest.mark.parametrize('error', [None, WorkerFailed('No such method')])
def test_validate_of_several_specs_looks_up_each_type_once(run, monkeypatch, error):
    """A failed lookup of the support status neither stops other specs nor changes the result."""
    looked_up, lookup = [], InProcessCaller.policy_type_get

    def get(caller, name):
        looked_up.append(name)
        if error:
            raise error
        return lookup(caller, name)

    monkeypatch.setattr(InProcessCaller, 'policy_type_get', get)
    zone, region = zone_policy('a')['spec'], region_policy('R1')['spec']

    status, out, err = run('validate', 'f', f=yaml.safe_dump_all([zone, region, zone]))

    names = [f'{one["type"]}-{one["version"]}' for one in (zone, region)]
    assert (status, len(list(yaml.safe_load_all(out)))) == (0, 3)
    assert looked_up == names
    assert err.splitlines() == [
        f'placement-policy validate: f: Cannot look up whether policy type {name} is deprecated: '
        'No such method'
        for name in (*names, names[0])
        if error
    ]
