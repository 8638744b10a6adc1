"""The errors of calls that fail: those of oslo.messaging and of the worker, as callers see them."""

from typing import NoReturn

import oslo_messaging

from placement_worker import errors
from placement_worker.contract.rpc import POLICY_CHECK

UNSUPPORTED = oslo_messaging.UnsupportedVersion.__name__
"""The error of a worker that has an older version of the contract."""


def raise_for(
    cause: oslo_messaging.MessagingException,
    method: str,
    version: str,
    queue: str,
    timeout_s: float,
) -> NoReturn:
    """Raise the error of a call, as `contract.caller.Caller` documents it.

    :param cause: the error that oslo.messaging raised; another one of its own is raised again.
    :param version: the version of the contract that the request needs.
    """
    if isinstance(cause, oslo_messaging.MessagingTimeout):
        raise errors.NoWorkerAnswered(
            f'No worker replied on topic {queue} within {timeout_s:g} s: '
            'no worker runs, or all threads are occupied'
        ) from cause
    if not isinstance(cause, oslo_messaging.RemoteError):
        raise cause
    if cause.exc_type == UNSUPPORTED:
        raise _too_old(method, version) from cause
    raise errors.WorkerFailed(
        f'{method} failed in the worker: {cause.exc_type}: {cause.value}'
    ) from cause


def _too_old(method: str, version: str) -> errors.WorkerTooOld:
    what = 'protection of nodes' if method == POLICY_CHECK.name else method
    return errors.WorkerTooOld(
        f'This worker knows no {what} (contract {version}): upgrade it, and all other workers of '
        'its topic'
    )
