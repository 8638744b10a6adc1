"""OpenTelemetry's spans of requests: oslo.messaging makes and sends them, and takes them over from
the caller.

They pass through our server because it does its work inside of that of oslo.messaging, in the same
thread.
"""

import importlib

from oslo_config import cfg

from placement_worker.errors import ConfigurationError

GROUP = 'oslo_messaging_tracing'
EXPORTERS = {
    'http/protobuf': 'opentelemetry.exporter.otlp.proto.http.trace_exporter',
    'grpc': 'opentelemetry.exporter.otlp.proto.grpc.trace_exporter',
}


def prepare(conf: cfg.ConfigOpts) -> None:
    """See that spans can be sent, if they are asked for; oslo.messaging would only warn, at each
    request.

    oslo.messaging 18.3 imports the package of the exporter and not the exporter itself, and then
    misses it.

    :raises ConfigurationError: a library is missing.
    """
    if GROUP not in conf or not conf[GROUP].tracing_enabled:  # 18.2 knows no tracing
        return
    try:
        importlib.import_module('opentelemetry.sdk.trace')
        importlib.import_module(EXPORTERS[conf[GROUP].otlp_protocol])
    except ImportError as exc:
        raise ConfigurationError(
            f'[{GROUP}] tracing_enabled needs {exc.name}, which is not installed: install placement-worker[tracing], '
            'or for otlp_protocol = grpc opentelemetry-exporter-otlp-proto-grpc'
        ) from exc
