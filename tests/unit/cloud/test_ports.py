"""The contents of requests to a cloud, and the texts of its errors."""

import threading

import pytest

from placement_worker.cloud.ports import UnreachableCloud, bound_request_id, current_request_id
from placement_worker.errors import ServiceFailed

OUTER = 'req-0f3a1b2c-0d4e-4f56-8a9b-0c1d2e3f4a5b'
INNER = 'req-99999999-0d4e-4f56-8a9b-0c1d2e3f4a5b'


@pytest.mark.parametrize('use', ['zones', 'regions', 'home_region', 'octavia'])
def test_unreachable_cloud_raises_cause_at_each_use(use):
    """Each use of an unreachable cloud raises the error that made it unreachable."""
    cause = ServiceFailed('Identity service unavailable')

    with pytest.raises(ServiceFailed) as failed:
        getattr(UnreachableCloud(cause), use)

    assert failed.value is cause


@pytest.mark.parametrize(
    'request_id',
    [None, '', 'req-1', OUTER[4:], OUTER.upper(), f'{OUTER}\n', f'{OUTER}-0', 'größer'],
)
def test_bound_request_id_of_other_form_is_ignored(request_id):
    """An id that services would ignore is not sent."""
    with bound_request_id(request_id):
        assert current_request_id() is None


def test_bound_request_id_applies_to_the_block_in_one_thread():
    """The inner id applies inside the inner block, the outer one after it; no other thread's."""
    seen = []
    with bound_request_id(OUTER):
        with bound_request_id(INNER):
            assert current_request_id() == INNER
            thread = threading.Thread(target=lambda: seen.append(current_request_id()))
            thread.start()
            thread.join()
        assert current_request_id() == OUTER
    assert current_request_id() is None
    assert seen == [None]
