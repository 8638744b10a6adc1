"""The preparation of OpenTelemetry traces."""

import importlib

import pytest
from oslo_config import cfg

from placement_worker.errors import ConfigurationError
from placement_worker.worker import startup

EXPORTER = 'opentelemetry.exporter.otlp.proto.http.trace_exporter'


def configured(*, enabled, protocol='http/protobuf'):
    conf = cfg.ConfigOpts()
    options = [
        cfg.BoolOpt('tracing_enabled', default=enabled),
        cfg.StrOpt('otlp_protocol', default=protocol),
    ]
    conf.register_opts(options, startup.TRACING)
    conf([])
    return conf


@pytest.fixture
def imported(monkeypatch):
    """Keep the names of imported modules; those of gRPC are missing."""
    names = []

    def import_module(name):
        if '.grpc' in name:
            raise ModuleNotFoundError(name=name)
        names.append(name)

    monkeypatch.setattr(importlib, 'import_module', import_module)
    return names


@pytest.mark.parametrize(
    ('conf', 'names'),
    [
        (cfg.ConfigOpts(), []),
        (configured(enabled=False), []),
        (configured(enabled=True), ['opentelemetry.sdk.trace', EXPORTER]),
    ],
)
def test_prepare_imports_sdk_and_exporter_with_tracing_alone(conf, names, imported):
    """oslo.messaging finds an exporter only if its module is imported, and may have no tracing."""
    startup.prepare_tracing(conf)

    assert imported == names


@pytest.mark.usefixtures('imported')
def test_prepare_with_a_missing_library_names_library_and_remedy():
    """A missing library is reported before the worker starts, with the package to install."""
    with pytest.raises(
        ConfigurationError,
        match=r'tracing_enabled needs opentelemetry\.exporter\.otlp\.proto\.grpc\.trace_exporter, '
        r'which is not installed: install placement-worker\[tracing\]',
    ):
        startup.prepare_tracing(configured(enabled=True, protocol='grpc'))
