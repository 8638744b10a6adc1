"""OpenTelemetry: the spans of an engine and of a worker are one trace."""

import subprocess
import sys
import uuid
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.waiting import DEADLINE_S

ROOT = Path(__file__).parents[2]


@pytest.fixture
def spans():
    """Return the queue of received spans and the URL of a collector."""
    received = Queue()

    class Collector(BaseHTTPRequestHandler):
        timeout = DEADLINE_S  # a connection without a request would block the end of the server

        def do_POST(self):
            body = self.rfile.read(int(self.headers['Content-Length']))
            for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for of_scope in of_resource.scope_spans:
                    for span in of_scope.spans:
                        received.put(span)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with closing(HTTPServer(('127.0.0.1', 0), Collector)) as server:
        server.close = server.server_close
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield received, f'http://127.0.0.1:{server.server_address[1]}'
        server.shutdown()
        thread.join()


def test_span_of_the_worker_continues_the_trace_of_the_engine(start_worker, broker_url, spans):
    """The span of a request has the trace id of the engine and the request id."""
    received, endpoint = spans
    worker = start_worker(
        '[oslo_messaging_tracing]\ntracing_enabled = true\n'
        f'otel_exporter_otlp_endpoint = {endpoint}',
        environment={'OTEL_BSP_SCHEDULE_DELAY': '100'},
    )
    request_id = f'req-{uuid.uuid4()}'

    engine = [sys.executable, '-m', 'tests.functional.traced_engine']
    engine += [broker_url, worker.topic, request_id]
    trace_id = subprocess.run(
        engine, cwd=ROOT, check=True, capture_output=True, text=True, timeout=DEADLINE_S
    ).stdout.strip()

    span = received.get(timeout=DEADLINE_S)
    while span.name != 'policy_check receive':  # spans of the readiness check of the fixture
        span = received.get(timeout=DEADLINE_S)
    attributes = {attribute.key: attribute.value.string_value for attribute in span.attributes}
    assert span.trace_id.hex() == trace_id
    assert attributes['openstack.request_id'] == request_id
    assert request_id in worker.log.read_text()
