"""The start of the worker: read the configuration, set up the log, report a failure."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from importlib import metadata

from oslo_config import cfg
from oslo_log import log

from placement_worker import errors
from placement_worker.config import options, validation
from placement_worker.formats.text import escaped
from placement_worker.worker import log_escaping

PROGRAM = 'placement-worker'
# Noisy or redundant loggers: `reload` logs the changed options in one line.
QUIET_LOGGERS = ('amqp=ERROR', 'oslo_config=WARNING', 'stevedore=CRITICAL')
# The errors that a configuration that cannot work raises.
STARTUP_ERRORS = (cfg.Error, errors.PlacementWorkerError, OSError, UnicodeDecodeError)
TRACING = 'oslo_messaging_tracing'
# The module of the exporter per `otlp_protocol`.
EXPORTERS = {
    'http/protobuf': 'opentelemetry.exporter.otlp.proto.http.trace_exporter',
    'grpc': 'opentelemetry.exporter.otlp.proto.grpc.trace_exporter',
}


def configure(conf: cfg.ConfigOpts, arguments: Sequence[str]) -> None:
    """Read the command line and the files that it names, and set up the log.

    :raises cfg.Error: an option does not exist or has an invalid value.
    :raises ConfigurationError: options contradict each other, or the log cannot be set up.
    """
    options.register(conf)
    log.register_options(conf)
    log.set_defaults(default_log_levels=[*log.get_default_log_levels(), *QUIET_LOGGERS])
    options.set_defaults()
    _validate_log_options(conf, arguments)
    conf(arguments, project=PROGRAM, version=metadata.version(PROGRAM))
    validation.validate(conf)
    validation.validate_logging_file(conf.log_config_append)
    try:
        log.setup(conf, PROGRAM)
    except OSError:
        raise
    except Exception as exc:  # e.g. RuntimeError of use_journal without its library
        raise errors.ConfigurationError(f'Cannot set up the log: {exc}') from exc
    log_escaping.escape_records()


def _validate_log_options(conf: cfg.ConfigOpts, arguments: Sequence[str]) -> None:
    """Check the options of the log in the files, before `conf` reads them."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name in ('--config-file', '--config-dir'):
        parser.add_argument(name, dest='named', action='append', type=f'{name}={{}}'.format)
    files = parser.parse_known_args(arguments)[0].named
    trial = type(conf)()  # a subclass of the tests reads no files of the machine
    validation.register_log_options(trial)
    trial(files or [], project=PROGRAM)
    validation.validate_defaults(trial)


def report_failure(conf: cfg.ConfigOpts, exc: Exception) -> None:
    """Print an error on standard error, on one line: the log is possibly not set up yet."""
    read = f' ({validation.sources(conf)})' if isinstance(exc, errors.ConfigurationError) else ''
    print(escaped(f'{PROGRAM}: {describe_error(exc)}{read}'), file=sys.stderr)  # noqa: T201


def describe_error(exc: Exception) -> str:
    text = errors.file_error(exc) if isinstance(exc, OSError) else validation.describe_error(exc)
    return escaped(' '.join(text.split()))


def prepare_tracing(conf: cfg.ConfigOpts) -> None:
    """Import the libraries for traces if tracing is enabled.

    Otherwise oslo.messaging 18.3 imports the package of the exporter but not the exporter, does not
    find it, and logs a warning per request.

    :raises ConfigurationError: a library is missing.
    """
    if TRACING not in conf or not conf[TRACING].tracing_enabled:  # 18.2 has no tracing
        return
    try:
        importlib.import_module('opentelemetry.sdk.trace')
        importlib.import_module(EXPORTERS[conf[TRACING].otlp_protocol])
    except ImportError as exc:
        raise errors.ConfigurationError(
            f'[{TRACING}] tracing_enabled needs {exc.name}, which is not installed: '
            'install placement-worker[tracing], '
            'or for otlp_protocol = grpc opentelemetry-exporter-otlp-proto-grpc'
        ) from exc
