"""The recorder of decisions that the configuration names."""

from collections.abc import Mapping

from oslo_config import cfg

from placement_worker.contract.model import Package
from placement_worker.decisions.log_file import LogFile
from placement_worker.decisions.records import DecisionLog
from placement_worker.errors import ConfigurationError, file_error
from placement_worker.handlers.ports import Recorder


def create(conf: cfg.ConfigOpts, packages: Mapping[str, Package] | None = None) -> Recorder | None:
    """Return the decision log of `[decision_log] file`, or None without a file.

    :param packages: the packages of policy types, as `Registry.packages`.
    :raises ConfigurationError: the file cannot be written.
    """
    path = conf.decision_log.file
    try:
        return DecisionLog(LogFile(path).append, conf.worker.host, packages) if path else None
    except OSError as exc:
        remedy = (
            'name a file in that folder'
            if isinstance(exc, IsADirectoryError)
            else 'create its folder and let the user of the worker write to it'
        )
        raise ConfigurationError(
            f'Cannot write [decision_log] file: {file_error(exc)}; {remedy}'
        ) from exc
