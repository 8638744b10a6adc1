"""A hook that records the responses of a cloud."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar, cast

import msgspec
from typing_extensions import override

from placement_worker.cloud.intercepted.interceptor import Call, Hook
from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import Wire
from placement_worker.errors import Rejected

T = TypeVar('T')


class Failure(Wire, frozen=True):
    """An error in place of a response: its class, its text and its other attributes."""

    type: str
    reason: str
    details: dict[str, Any] = {}


class Answer(Wire, frozen=True, omit_defaults=True):
    """A call to a cloud and its response.

    `asked`: a method of `Clouds`, `Cloud` or, with the prefix `octavia.`, of `Octavia`. `of`: its
    arguments without credentials; Octavia's begin with the region.
    """

    asked: str
    of: list[Any]
    answer: msgspec.Raw = msgspec.Raw(b'null')
    failure: Failure | None = None


class Recording(Hook):
    """Hook that appends each call and its response to a list.

    A response is recorded as it is when the call returns, since the caller may change it.
    """

    def __init__(self, answers: list[Answer]) -> None:
        """Choose the list."""
        self._answers = answers

    @override
    def __call__(self, call: Call, make: Callable[[], T], /) -> T:
        try:
            answer = _ordered(make())
        except (Rejected, ApiError) as exc:
            self._answers.append(Answer(call.method, list(call.arguments), failure=_failure(exc)))
            raise
        encoded = msgspec.Raw(msgspec.json.encode(answer))
        self._answers.append(Answer(call.method, list(call.arguments), encoded))
        return answer


def _ordered(answer: T) -> T:
    """Return a set in the order in which a replay returns it; return anything else unchanged."""
    return cast('T', sorted(answer)) if isinstance(answer, AbstractSet) else answer


def _failure(exc: Rejected | ApiError) -> Failure:
    if isinstance(exc, ApiError):
        return Failure(
            type(exc).__name__, str(exc), {'status': exc.status, 'retry_after_s': exc.retry_after_s}
        )
    return Failure(type(exc).__name__, str(exc), dict(exc.details))
