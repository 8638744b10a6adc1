"""The request id that is sent to cloud services."""

import threading

import pytest

from placement_worker.cloud.request_id import bound_request_id, current_request_id

OUTER = 'req-0f3a1b2c-0d4e-4f56-8a9b-0c1d2e3f4a5b'
INNER = 'req-99999999-0d4e-4f56-8a9b-0c1d2e3f4a5b'


@pytest.mark.parametrize(
    'request_id',
    [
        None,
        '',
        'req-1',
        OUTER.removeprefix('req-'),
        OUTER.upper(),
        f'{OUTER}\n',
        f'{OUTER}-0',
        'größer',
    ],
)
def test_bound_request_id_of_other_form_is_ignored(request_id):
    """An id that services would ignore is not sent."""
    with bound_request_id(request_id):
        assert current_request_id() is None


def test_bound_request_id_in_nested_block_is_restored():
    """The inner id applies inside the inner block, and the outer id afterwards."""
    with bound_request_id(OUTER):
        with bound_request_id(INNER):
            assert current_request_id() == INNER
        assert current_request_id() == OUTER
    assert current_request_id() is None


def test_bound_request_id_applies_to_one_thread():
    """Other threads do not send the id of a request."""
    seen = []
    with bound_request_id(OUTER):
        thread = threading.Thread(target=lambda: seen.append(current_request_id()))
        thread.start()
        thread.join()

    assert seen == [None]
