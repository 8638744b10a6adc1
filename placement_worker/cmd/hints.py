"""Hints: the end of each error line of placement-policy says how to correct the error."""

import re

from placement_worker import errors
from placement_worker.cordons.cordon_file import InvalidCordonFile
from placement_worker.formats import documents

_COMMAND = 'placement-policy'
ANY_TYPE = 'NAME-VERSION'
"""The policy type in a hint that does not know it."""
_HINTS: tuple[tuple[type[Exception], str], ...] = (
    (
        errors.PolicyTypeNotFound,
        f'run "{_COMMAND} type list", with --config-file or --transport to ask a worker, '
        'for the installed types',
    ),
    (errors.InvalidSpec, f'run "{_COMMAND} type show {ANY_TYPE}" for the schema'),
    (
        errors.UnsupportedAction,
        f'run "{_COMMAND} schema policy_check.request" for the actions of Senlin',
    ),
    (errors.Refused, 'correct the file and try again'),
    (InvalidCordonFile, 'correct the cordon file'),
    (errors.InvalidInventory, 'correct the file that --cloud names'),
    (errors.BrokerUnreachable, 'check that RabbitMQ runs at this address, and has no alarm'),
    (
        errors.NoWorkerAnswered,
        'check that a worker serves this broker and has a free thread ("Nothing happens" in the '
        'runbook); increase --timeout only if a request takes longer',
    ),
    (
        errors.BrokerRefused,
        'check the user, password, virtual host, permissions and certificates',
    ),
    (errors.QueueMismatch, 'correct the queue as the message says'),
    (errors.WorkerTooOld, 'try again after the upgrade'),
    (errors.RequestParked, f'run "{_COMMAND} parked list" to see parked requests'),
    (errors.ServiceRefused, 'correct the cause and try again'),
    (errors.CloudUnavailable, 'try again when the service is available'),
    (errors.ClientClosed, 'run the command again'),
    (errors.ConfigurationError, 'correct the option'),
    (documents.Damaged, 'copy the file again, or omit it'),
    (documents.DocumentError, 'write the file in YAML or JSON'),
    (FileNotFoundError, 'check the path'),
    (IsADirectoryError, 'name a file in this directory'),
    (
        PermissionError,
        'run the command as a user who has access to the file, for example with sudo',
    ),
    (OSError, 'check the file and its file system'),
)
"""The hint for each type of error; the first match counts."""
_BY_TEXT = (
    ('Expected `object`, got `str` - at `$`', 'this file has text without keys; check its name'),
    ('found the key ', 'remove one of the two'),
    ('found a tab character', 'indent with spaces'),
    ('cannot start any token', 'indent with spaces, and quote a text that begins like this'),
    ('Not a gzipped file', 'remove .gz from the name of a file that is not compressed'),
)
"""The hint for an error of a file whose text has this part; it precedes that of the type."""
NOT_DELIVERED = 'The request could not be delivered: '
"""The begin of the client's text, also if the broker lets the user connect and nothing more."""
OPERATOR_NEEDED = (
    'the broker runs, but this user lacks a permission; use the broker user of an operator '
    '("Configuration of operators" in the manual)'
)
TOPIC_REFUSED = 'access to topic '
"""The resource of an operation that a topic permission forbids, in the text of the broker."""
TOPIC_PERMISSION_NEEDED = (
    'the broker runs, but the topic permissions of this user forbid this topic; compare the topic '
    'with "rabbitmqctl list_topic_permissions"'
)
SKIPPED_TYPE = 'correct the cause, and restart the workers'
_WITH_REMEDY = (
    errors.BrokerRefused,
    errors.NoWorkerAnswered,
    errors.PolicyTypeNotFound,
    InvalidCordonFile,
)
"""The errors whose texts may name a remedy."""
_HAS_REMEDY = re.compile('; (check|create it,|the page|start|this port may|write type) ')


def with_hint(exc: Exception, text: str = '') -> str:
    """Return the text of an error with its hint, unless the text already names a command.

    :param text: a text instead of that of the error.
    """
    text = text or (errors.file_error(exc) if isinstance(exc, OSError) else str(exc))
    text = ' '.join(text.split())
    if isinstance(exc, errors.WorkerFailed):
        hint: str | None = _for_internal_error(text)
    elif isinstance(exc, errors.BrokerRefused) and text.startswith(NOT_DELIVERED):
        hint = TOPIC_PERMISSION_NEEDED if TOPIC_REFUSED in text else OPERATOR_NEEDED
    elif isinstance(exc, errors.PolicyTypeNotFound) and ' was skipped: ' in text:
        hint = SKIPPED_TYPE
    elif isinstance(exc, _WITH_REMEDY) and _HAS_REMEDY.search(text):
        hint = None
    elif isinstance(exc, (errors.InvalidRequest, documents.DocumentError)):
        hint = next((hint for part, hint in _BY_TEXT if part in text), _by_type(exc))
    else:
        hint = _by_type(exc)
    return text if hint is None or _COMMAND in text else f'{text.rstrip(".")}; {hint}'


def _by_type(exc: Exception) -> str | None:
    return next((hint for kind, hint in _HINTS if isinstance(exc, kind)), None)


def _for_internal_error(text: str) -> str:
    """Return where the traceback of an internal error is, and the maintainers to report it to."""
    look = (
        'look for the traceback in the log of the worker'
        if ' in the worker: ' in text
        else f'run "{_COMMAND} --debug ..." for the traceback'
    )
    owner = 'the plugin' if ', a plugin of ' in text else 'placement-worker'
    return f'{look}, and report it to the maintainers of {owner}'
