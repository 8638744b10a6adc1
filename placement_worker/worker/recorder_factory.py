"""The recorder of decisions that the configuration names."""

from oslo_config import cfg

from placement_worker.decisions.log_file import LogFile
from placement_worker.decisions.records import DecisionLog
from placement_worker.errors import ConfigurationError, file_error
from placement_worker.handlers.ports import Recorder


def create(conf: cfg.ConfigOpts) -> Recorder | None:
    """Return the decision log of `[decision_log] file`, or None without a file.

    :raises ConfigurationError: the file cannot be written.
    """
    path = conf.decision_log.file
    try:
        return DecisionLog(LogFile(path).append, conf.worker.host) if path else None
    except OSError as exc:
        remedy = (
            'name a file in that folder'
            if isinstance(exc, IsADirectoryError)
            else 'create its folder and let the user of the worker write to it'
        )
        raise ConfigurationError(
            f'Cannot write [decision_log] file: {file_error(exc)}; {remedy}'
        ) from exc
