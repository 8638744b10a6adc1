"""The preparation of OpenTelemetry traces."""

import importlib

import pytest
from oslo_config import cfg

from placement_worker.errors import ConfigurationError
from placement_worker.messaging import rpc_server


def configured(*, enabled, protocol='http/protobuf'):
    """Return a configuration with the options of oslo.messaging for traces."""
    conf = cfg.ConfigOpts()
    options = [cfg.BoolOpt('tracing_enabled'), cfg.StrOpt('otlp_protocol')]
    conf.register_opts(options, rpc_server.TRACING)
    conf([])
    conf.set_override('tracing_enabled', enabled, rpc_server.TRACING)
    conf.set_override('otlp_protocol', protocol, rpc_server.TRACING)
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


@pytest.mark.parametrize('conf', [cfg.ConfigOpts(), configured(enabled=False)])
def test_prepare_without_tracing_imports_no_library(conf, imported):
    """A worker without traces, or with an oslo.messaging that has none, loads no library."""
    rpc_server.prepare_tracing(conf)

    assert imported == []


def test_prepare_with_tracing_imports_sdk_and_exporter(imported):
    """oslo.messaging finds an exporter only if its module is imported."""
    rpc_server.prepare_tracing(configured(enabled=True))

    assert imported == [
        'opentelemetry.sdk.trace',
        'opentelemetry.exporter.otlp.proto.http.trace_exporter',
    ]


@pytest.mark.usefixtures('imported')
def test_prepare_with_a_missing_library_names_library_and_remedy():
    """A missing library is reported before the worker starts, with the package to install."""
    with pytest.raises(
        ConfigurationError,
        match=r'tracing_enabled needs opentelemetry\.exporter\.otlp\.proto\.grpc\.trace_exporter, '
        r'which is not installed: install placement-worker\[tracing\]',
    ):
        rpc_server.prepare_tracing(configured(enabled=True, protocol='grpc'))
