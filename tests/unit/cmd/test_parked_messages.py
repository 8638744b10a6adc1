"""The columns of a parked request."""

import json
from types import SimpleNamespace

import pytest

from placement_worker.cmd import parked_messages


def row(method, request):
    """Return the columns of a call with this request."""
    message = {'method': method, 'args': {'request': json.dumps(request)}}
    body = json.dumps({'oslo.version': '2.0', 'oslo.message': json.dumps(message)})
    return parked_messages.row(SimpleNamespace(id='7', parked_at='now', topic='t', body=body))


def check(**cluster):
    return {'action': {'id': 'a1', 'action': 'CLUSTER_SCALE_OUT'}, 'cluster': cluster}


@pytest.mark.parametrize(
    ('request_', 'clusters'),
    [
        (check(id='c1', name='web'), ['web']),
        (check(id='c1'), ['c1']),
        (check(id=7), []),
        ({'cluster': 'c1'}, []),
        ([], []),
    ],
)
def test_row_has_the_cluster_of_the_request(request_, clusters):
    """An operator sees whose request is parked; malformed parts are left out."""
    assert row('policy_check', request_)['clusters'] == clusters


def test_table_row_of_a_check_names_its_action():
    """The action says more than the method of all checks."""
    assert parked_messages.table_row(row('policy_check', check(id='c1')))['request'] == (
        'CLUSTER_SCALE_OUT'
    )
