"""OpenTelemetry traces: oslo.messaging creates and exports the spans of requests.

A span covers the handling of a request, because the RPC server handles it in the thread in which
oslo.messaging processes the message.
"""

import importlib

from oslo_config import cfg

from placement_worker.errors import ConfigurationError

GROUP = 'oslo_messaging_tracing'
EXPORTERS = {
    'http/protobuf': 'opentelemetry.exporter.otlp.proto.http.trace_exporter',
    'grpc': 'opentelemetry.exporter.otlp.proto.grpc.trace_exporter',
}
"""The module of the exporter per `otlp_protocol`."""


def prepare(conf: cfg.ConfigOpts) -> None:
    """Import the libraries for traces if tracing is enabled.

    Without this, oslo.messaging 18.3 imports the package of the exporter but not the exporter, does
    not find it, and logs a warning per request.

    :raises ConfigurationError: a library is missing.
    """
    if GROUP not in conf or not conf[GROUP].tracing_enabled:  # 18.2 has no tracing
        return
    try:
        importlib.import_module('opentelemetry.sdk.trace')
        importlib.import_module(EXPORTERS[conf[GROUP].otlp_protocol])
    except ImportError as exc:
        raise ConfigurationError(
            f'[{GROUP}] tracing_enabled needs {exc.name}, which is not installed: '
            'install placement-worker[tracing], '
            'or for otlp_protocol = grpc opentelemetry-exporter-otlp-proto-grpc'
        ) from exc
