"""The lines of decision logs as requests and replies."""

import pytest

from placement_worker.contract.model import BindRequest, CheckRequest
from placement_worker.decisions import replay
from placement_worker.decisions.log_records import MALFORMED, check_of, decoded
from placement_worker.errors import InvalidRequest
from tests.factories import bind, deletion_policy, nodes, request


def _entry(tmp_path, line):
    path = tmp_path / 'log'
    path.write_bytes(line)
    ((_, found),) = replay.entries(str(path))
    return found


def test_check_of_a_record_returns_its_request_and_reply(decide, tmp_path):
    """The record of a check has the nodes of the request, and the data of the reply."""
    asked = request('CLUSTER_SCALE_IN', [deletion_policy('OLDEST_FIRST')], nodes(a=2))
    line, reply = decide(asked)

    check, replied = check_of(_entry(tmp_path, line))

    assert [node.id for node in check.cluster.nodes] == ['n1', 'n2']
    assert replied.action.data == reply['action']['data']


@pytest.mark.parametrize(
    ('method', 'kind'), [('policy_check', CheckRequest), ('policy_attach', BindRequest)]
)
def test_decoded_record_has_the_type_of_its_method(method, kind, decide, tmp_path):
    """A check and an attachment are decoded as different requests."""
    policy = deletion_policy('OLDEST_FIRST')
    asked = bind(policy) if kind is BindRequest else request('CLUSTER_SCALE_IN', [policy])

    record = decoded(_entry(tmp_path, decide(asked, method=method)[0]))

    assert isinstance(record.request, kind)


def test_decoded_damaged_line_raises_its_error():
    """The error of a line that is no record is one of those that readers report."""
    with pytest.raises(MALFORMED, match='no record'):
        decoded(InvalidRequest('no record'))
