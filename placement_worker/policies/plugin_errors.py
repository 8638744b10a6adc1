"""Name the policy and its package in the errors that a plugin raises."""

import contextlib
from collections.abc import Iterator
from threading import current_thread, main_thread

from placement_worker.errors import PlacementWorkerError, Rejected
from placement_worker.formats.text import shortened
from placement_worker.policies.plugin_interface import PolicyClass, is_built_in
from placement_worker.policies.plugin_packages import origin

MAX_TEXT = 1000
"""The number of characters of an exception's text that log and caller get."""


@contextlib.contextmanager
def named_in_errors(type_name: str, policy: PolicyClass) -> Iterator[None]:
    """Add the type and the package of a policy to any error that is not raised on purpose."""
    try:
        yield
    except PlacementWorkerError:
        raise
    except Exception as exc:
        error = exc if is_built_in(policy) else _bounded(exc)
        error.add_note(origin(type_name, policy))
        if error is exc:
            raise
        raise error.with_traceback(exc.__traceback__) from None
    except BaseException as exc:  # e.g. SystemExit, which would end the process without a message
        pressed = isinstance(exc, KeyboardInterrupt) and current_thread() is main_thread()
        if pressed or is_built_in(policy):  # Ctrl-C of a user, or the end of this process
            raise
        with named_in_errors(type_name, policy):
            raise RuntimeError(f'A policy must not end the process; it raised {exc!r}') from exc


@contextlib.contextmanager
def named_in_decisions(type_name: str, policy: PolicyClass) -> Iterator[None]:
    """Add the type and the package of a policy to any error without a reason for operators.

    A request may have several policies, so a refusal needs the name of the one that raised it.
    """
    try:
        yield
    except PlacementWorkerError as exc:
        if not is_built_in(policy):
            with named_in_errors(type_name, policy):
                _shorten(exc, origin(type_name, policy))
            if not isinstance(exc, Rejected):
                _name(exc, type_name, policy)
        raise
    except BaseException:
        with named_in_errors(type_name, policy):
            raise


@contextlib.contextmanager
def named_in_validation(type_name: str, policy: PolicyClass) -> Iterator[None]:
    """Add the type and the package of a policy to any error: no reply names the policy."""
    try:
        with named_in_decisions(type_name, policy):
            yield
    except Rejected as exc:
        _name(exc, type_name, policy)
        raise


def _name(exc: PlacementWorkerError, type_name: str, policy: PolicyClass) -> None:
    """Add the type and the package of a plugin to the text of an error."""
    named = f' ({origin(type_name, policy)})'
    if not is_built_in(policy) and not str(exc).endswith(named):  # it may be raised again
        exc.args = (f'{exc}{named}',)


def _shorten(exc: PlacementWorkerError, named: str) -> None:
    """Shorten the text of an error that a plugin raised on purpose, or replace an empty one.

    :param named: the type and the package, which the text already has if it was raised before.
    :raises RuntimeError: as `_text`.
    """
    text = _text(exc)
    if not text.strip() and isinstance(exc, Rejected):
        exc.args = (f'A policy gave no reason for its rejection ({named})',)
    elif len(text.removesuffix(f' ({named})')) > MAX_TEXT:
        exc.args = (shortened(text, MAX_TEXT),)


def _bounded(exc: Exception) -> Exception:
    """Return an exception of a plugin, or another one if its text is long or cannot be read."""
    try:
        text = _text(exc)
    except RuntimeError as unreadable:
        return unreadable
    if len(text) <= MAX_TEXT:
        return exc
    return RuntimeError(f'{type(exc).__name__}: {shortened(text, MAX_TEXT)}')


def _text(exc: Exception) -> str:
    """Return the text of an exception of a plugin.

    :raises RuntimeError: the text cannot be read; with the traceback of the exception.
    """
    try:
        return str(exc)
    except Exception as raised:
        error = RuntimeError(f'{type(exc).__name__}, whose text raised {type(raised).__name__}')
        raise error.with_traceback(exc.__traceback__) from None
