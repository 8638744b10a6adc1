"""Records of the calls to a cloud, and a cloud that returns the recorded responses.

The decision log keeps the responses that led to a decision. A replay makes the same decision
without a cloud, and so shows whether a new release, or another setting, decides differently.
"""

import json
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar, cast

import msgspec
from typing_extensions import override

from placement_worker import errors
from placement_worker.cloud.intercepted.interceptor import LOG_IN, Call, Hook, InterceptedClouds
from placement_worker.cloud.ports import ApiError, Network, Subnet
from placement_worker.contract.codec import decoder
from placement_worker.contract.model import ContractStruct, ServerDetails
from placement_worker.errors import PlacementWorkerError, Rejected

T = TypeVar('T')
# Methods -> the types of their responses; those of Octavia's API are plain data.
_RESPONSES: Mapping[str, Any] = {
    'home_region': str | None,
    'load_balancer_region': str | None,
    'zones': dict[str, bool],
    'regions': list[str],
    'servers': dict[str, ServerDetails],
    'subnet': Subnet | None,
    'network': Network | None,
}
_OPENING = (LOG_IN, 'octavia')  # calls whose result is no data


class NotRecorded(PlacementWorkerError):
    """The record has no response to a call."""


class Failure(ContractStruct, frozen=True):
    """An error in place of a response: its class, its text and its other attributes."""

    type: str
    reason: str
    details: dict[str, Any] = {}


class Answer(ContractStruct, frozen=True, omit_defaults=True):
    """A call to a cloud and its response.

    :ivar asked: the method of a `Call`.
    :ivar of: its arguments.
    """

    asked: str
    of: list[Any]
    answer: msgspec.Raw = msgspec.Raw(b'null')
    failure: Failure | None = None


class Recording(Hook):
    """Hook that appends each call to a list, with its response before the caller changes it."""

    def __init__(self, answers: list[Answer]) -> None:
        self._answers = answers

    @override
    def __call__(self, call: Call, make: Callable[[], T], /) -> T:
        arguments = list(map(_ordered, call.arguments))
        try:
            answer = _ordered(make())
        except (Rejected, ApiError) as exc:
            self._answers.append(Answer(call.method, arguments, failure=_failure(exc)))
            raise
        encoded = msgspec.Raw(msgspec.json.encode(answer))
        self._answers.append(Answer(call.method, arguments, encoded))
        return answer


class _Replay(Hook):
    def __init__(self, answers: Iterable[Answer]) -> None:
        self._answers: dict[str, deque[Answer]] = defaultdict(deque)
        for answer in answers:
            self._answers[_key(answer.asked, answer.of)].append(answer)

    @override
    def __call__(self, call: Call, make: Callable[[], T], /) -> T:
        left = self._answers[_key(call.method, call.arguments)]
        if not left:
            arguments = json.dumps(call.arguments)[1:-1]
            raise NotRecorded(f'The record has no response to the call {call.method}({arguments})')
        answer = left.popleft()
        if answer.failure is not None:
            raise _error(answer.failure)
        if call.method in _OPENING:
            return make()
        return cast('T', decoder(_RESPONSES.get(call.method, Any)).decode(answer.answer))


class _NoCloud:
    """The cloud behind a replay, which opens itself instead of a connection."""

    def __getattr__(self, name: str) -> Callable[..., '_NoCloud']:
        return lambda *_: self


def replayed_clouds(answers: Iterable[Answer]) -> InterceptedClouds:
    """Return the clouds of a record, whose calls raise `NotRecorded` if the record lacks them."""
    return InterceptedClouds(cast('Any', _NoCloud()), _Replay(answers))


def _key(method: str, arguments: Any) -> str:
    return json.dumps([method, *map(_ordered, arguments)], sort_keys=True)


def _ordered(value: T) -> T:
    """Return a set in the order of its record; return anything else unchanged."""
    return cast('T', sorted(value)) if isinstance(value, AbstractSet) else value


def _failure(exc: Rejected | ApiError) -> Failure:
    if isinstance(exc, ApiError):
        details = {'status': exc.status, 'retry_after_s': exc.retry_after_s}
    else:
        details = dict(exc.details)
    return Failure(type(exc).__name__, str(exc), details)


def _error(failure: Failure) -> Exception:
    """Return the error of the cloud; an unknown class becomes `Rejected`."""
    if failure.type == ApiError.__name__:
        return ApiError(failure.reason, **failure.details)
    error = getattr(errors, failure.type, None)
    known = isinstance(error, type) and issubclass(error, Rejected)
    return (error if known else Rejected)(failure.reason, failure.details)  # type: ignore[misc]
