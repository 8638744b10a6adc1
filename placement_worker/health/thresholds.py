"""The thresholds of a worker that is alive and ready, and the reasons why it is not."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from placement_worker.health.heartbeats import ProcessState


class Thresholds(NamedTuple):
    """The greatest ages of a worker that is alive and ready, in seconds.

    `poll_age_s`: of the last poll while connected. `request_age_s`: of the oldest request in
    flight. `reconnect_age_s`: of the last poll while disconnected; 0 for no limit.
    `disconnected_s`: of the loss of the connection, and of the end of a process until the one in
    its place serves.
    """

    poll_age_s: float
    request_age_s: float
    reconnect_age_s: float
    disconnected_s: float


def liveness_failures(
    processes: Sequence[ProcessState], thresholds: Thresholds, stopping: bool = False
) -> list[str]:
    """Return the reasons why a worker is not alive.

    :param stopping: whether the worker stops, and need not poll.
    """
    failures = []
    for process in processes:
        poll_limit_s = _poll_limit_s(process, thresholds)
        if not stopping and process.poll_age_s > poll_limit_s:
            failures.append(
                f'{_name(process)} last polled {process.poll_age_s:.1f} s ago '
                f'(limit {poll_limit_s:g} s)'
            )
        if process.request_age_s is not None and process.request_age_s > thresholds.request_age_s:
            failures.append(
                f'{_name(process)} has had a request in flight for {process.request_age_s:.1f} s '
                f'(limit {thresholds.request_age_s:g} s)'
            )
    return failures


def _poll_limit_s(process: ProcessState, thresholds: Thresholds) -> float:
    if process.disconnected_s is None:
        return thresholds.poll_age_s
    return thresholds.reconnect_age_s or math.inf


def readiness_failures(
    processes: Sequence[ProcessState], thresholds: Thresholds, stopping: bool = False
) -> list[str]:
    """Return the reasons why a worker is not ready for requests.

    :param stopping: whether the worker stops.
    """
    failures = ['the worker is stopping'] if stopping else []
    limit_s = thresholds.disconnected_s
    for process in processes:
        if process.unserved_s == math.inf:
            failures.append(f'{_name(process)} has not reached the broker yet')
        elif process.unserved_s is not None and process.unserved_s > limit_s:
            failures.append(
                f'{_name(process)} has not served for {process.unserved_s:.1f} s '
                f'(limit {limit_s:g} s)'
            )
        elif process.disconnected_s is not None and process.disconnected_s > limit_s:
            failures.append(
                f'{_name(process)} has had no broker connection for {process.disconnected_s:.1f} s '
                f'(limit {limit_s:g} s)'
            )
    return failures


def _name(process: ProcessState) -> str:
    return f'process {process.pid}' if process.pid else 'a process that has not started'
