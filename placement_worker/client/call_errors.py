"""The errors of calls that fail: those of oslo.messaging and of the worker, as callers see them."""

import re
from typing import NoReturn

import oslo_messaging
from kombu.exceptions import OperationalError

from placement_worker import errors
from placement_worker.contract.rpc import POLICY_CHECK

UNSUPPORTED = oslo_messaging.UnsupportedVersion.__name__
"""The error of a worker that has an older version of the contract."""

UNDELIVERED = re.compile(r'Unable to connect to AMQP server on (\S+) after \S+ tries: ')
"""The begin of oslo.messaging's text, also if the broker responded and refused the request."""


def not_sent(
    cause: oslo_messaging.MessageUndeliverable | oslo_messaging.MessageDeliveryFailure,
    queue: str,
    server: str | None,
    exchange: str,
) -> errors.NoWorkerAnswered | errors.BrokerUnreachable:
    """Return the error of a request that did not reach a queue.

    :param server: the `[worker] host` of the only worker to call; None for any worker.
    """
    if isinstance(cause, oslo_messaging.MessageDeliveryFailure):
        text = UNDELIVERED.sub(r'\1: ', str(cause))
        return errors.BrokerUnreachable(f'The request could not be delivered: {text}')
    worker = 'worker' if server is None else f'worker with [worker] host = {server}'
    return errors.NoWorkerAnswered(
        f'There is no queue for topic {queue}: no {worker} has served this topic of exchange '
        f'{exchange}; start one, or correct the topic or the exchange'
    )


def raise_for(
    cause: Exception, method: str, version: str, queue: str, timeout_s: float
) -> NoReturn:
    """Raise the error of a call, as `contract.caller.Caller` documents it.

    :param cause: the error that oslo.messaging raised; another one of its own is raised again.
    :param version: the version of the contract that the request needs.
    """
    if isinstance(cause, errors.PlacementWorkerError):
        raise _without_traceback(cause) from None
    if isinstance(cause, oslo_messaging.MessagingTimeout):
        raise errors.NoWorkerAnswered(
            f'No worker replied on topic {queue} within {timeout_s:g} s: '
            'no worker runs, or all threads are occupied'
        ) from cause
    if isinstance(cause, oslo_messaging.RemoteError):
        if cause.exc_type == UNSUPPORTED:
            raise _too_old(method, version) from cause
        raise _failed(method, cause.exc_type, cause.value) from cause
    if isinstance(cause, oslo_messaging.MessagingException):
        raise cause
    if isinstance(cause, OperationalError):  # oslo.messaging passes on some of kombu's
        raise errors.BrokerUnreachable(f'The broker does not respond: {cause}') from cause
    # oslo.messaging recreates built-in exceptions of the worker
    raise _failed(method, type(cause).__name__, str(cause).partition('\n')[0]) from cause


def _too_old(method: str, version: str) -> errors.WorkerTooOld:
    what = 'protection of nodes' if method == POLICY_CHECK.name else method
    return errors.WorkerTooOld(
        f'This worker knows no {what} (contract {version}): upgrade it, and all other workers of '
        'its topic'
    )


def _failed(method: str, error_type: str, text: object) -> errors.WorkerFailed:
    return errors.WorkerFailed(f'{method} failed in the worker: {error_type}: {text}')


def _without_traceback(error: errors.PlacementWorkerError) -> errors.PlacementWorkerError:
    """Return the error without the worker's traceback, which oslo.messaging adds to its text."""
    kind: type[errors.PlacementWorkerError] = next(
        kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__
    )
    return kind(*error.args)
