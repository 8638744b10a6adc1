"""An engine that calls a worker within a trace, and prints the id of the trace.

usage: traced_engine.py URL TOPIC REQUEST_ID
"""

import sys

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from oslo_config import cfg

from placement_worker.client.rpc_client import PolicyClient
from tests.factories import request, zone_policy

url, topic, request_id = sys.argv[1:]
trace.set_tracer_provider(TracerProvider())
client = PolicyClient(url, topic=topic)
cfg.CONF.set_override('tracing_enabled', True, 'oslo_messaging_tracing')
with trace.get_tracer('engine').start_as_current_span('scale out') as span:
    client.policy_check(
        request('CLUSTER_SCALE_OUT', [zone_policy('a')]), {'request_id': request_id}
    )
client.close()
print(trace.format_trace_id(span.get_span_context().trace_id))
