"""The record of the calls to a cloud and their responses."""

import msgspec
import pytest

from placement_worker.cloud.intercepted.interceptor import Call
from placement_worker.cloud.intercepted.recording import Answer, Failure, Recording
from placement_worker.cloud.ports import ApiError
from placement_worker.errors import NoUsablePlace

CALL = Call('compute', 'zones', 'zones', ['R1'])


@pytest.fixture
def answers():
    return []


def encoded(answers):
    return msgspec.to_builtins(msgspec.json.decode(msgspec.json.encode(answers)))


def test_response_is_recorded_with_its_call(answers):
    """A record has the method, the arguments and the response."""
    assert Recording(answers)(CALL, lambda: {'a': True}) == {'a': True}

    assert encoded(answers) == [{'asked': 'zones', 'of': ['R1'], 'answer': {'a': True}}]


def test_response_that_the_caller_changes_is_recorded_as_it_was(answers):
    """A change of a response after the call does not change the record."""
    answer = Recording(answers)(CALL, lambda: {'a': True})
    answer['b'] = False

    assert encoded(answers) == [{'asked': 'zones', 'of': ['R1'], 'answer': {'a': True}}]


def test_set_is_recorded_and_returned_in_order(answers):
    """The caller sees a set in the order in which a replay returns it."""
    call = Call('identity', 'regions', 'regions', [])

    assert Recording(answers)(call, lambda: frozenset({'R2', 'R1'})) == ['R1', 'R2']

    assert encoded(answers) == [{'asked': 'regions', 'of': [], 'answer': ['R1', 'R2']}]


@pytest.mark.parametrize(
    ('error', 'failure'),
    [
        (
            NoUsablePlace('no zone', {'zones': ['a']}),
            Failure('NoUsablePlace', 'no zone', {'zones': ['a']}),
        ),
        (
            ApiError('busy', 429, 3.0),
            Failure('ApiError', 'busy', {'status': 429, 'retry_after_s': 3.0}),
        ),
    ],
)
def test_error_of_the_cloud_is_recorded_and_raised(answers, error, failure):
    """A record has the class, the text and the attributes of an error."""

    def fail():
        raise error

    with pytest.raises(type(error)):
        Recording(answers)(CALL, fail)

    assert answers == [Answer('zones', ['R1'], failure=failure)]


def test_internal_error_is_raised_and_not_recorded(answers):
    """An error that is no response of a cloud is not part of the record."""

    def fail():
        raise KeyError('zone')

    with pytest.raises(KeyError):
        Recording(answers)(CALL, fail)

    assert answers == []
