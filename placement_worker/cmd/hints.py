"""What to do about an error: the end of each line that placement-policy complains in."""

from placement_worker import errors
from placement_worker.formats import documents

_COMMAND = 'placement-policy'
_REMEDIES: tuple[tuple[type[Exception], str], ...] = (
    (errors.PolicyTypeNotFound, f'{_COMMAND} type list shows those that are'),
    (errors.InvalidSpec, f'{_COMMAND} type show NAME-VERSION shows what a spec may say'),
    (errors.UnsupportedAction, 'name one of the actions that Senlin has'),
    (errors.Refused, 'correct it there and try again'),
    (errors.InvalidInventory, 'correct the file that --cloud names'),
    (errors.BrokerUnreachable, 'see that RabbitMQ runs there and that the address is right'),
    (
        errors.NoWorkerAnswered,
        'see that a worker serves this broker, or wait longer with --timeout',
    ),
    (errors.BrokerRefused, 'see user, password, virtual host, permissions and certificates'),
    (errors.QueueMismatch, 'do with the queue what the message says'),
    (errors.RequestParked, f'{_COMMAND} parked list shows what was put aside'),
    (errors.WorkerFailed, 'look for it in the log, and report it to whoever wrote that'),
    (errors.ServiceRefused, 'try again when that is set right'),
    (errors.CloudUnavailable, 'try again when the service answers'),
    (errors.ConfigurationError, 'correct the option'),
    (documents.Malformed, 'give it YAML or JSON'),
    (FileNotFoundError, 'see that the path is right'),
    (IsADirectoryError, 'name a file in it'),
    (PermissionError, 'see who may read and write it'),
    (OSError, 'see what keeps it from being used'),
)
"""The first that fits counts. An error that names a command itself says already what to do."""


def told(exc: Exception) -> str:
    """What is wrong, and then what to do."""
    text = ' '.join((errors.file_error(exc) if isinstance(exc, OSError) else str(exc)).split())
    remedy = next((remedy for kind, remedy in _REMEDIES if isinstance(exc, kind)), None)
    return text if remedy is None or _COMMAND in text else f'{text.rstrip(".")}; {remedy}'
