"""Decoding: the cost of refused requests, the texts of errors, concurrent first requests."""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract import codec
from placement_worker.contract.model import CheckRequest
from placement_worker.contract.rpc import Limits
from placement_worker.handlers.endpoints import Endpoints
from tests.factories import changed, deletion_policy, node, nodes, request, zone_policy

GOOD = request('CLUSTER_SCALE_IN', [zone_policy('a'), deletion_policy()], nodes(a=2))
LARGE = 44 * 2**20


@pytest.fixture
def endpoints(registry):
    return Endpoints(
        Inventory.parse({'zones': {'a': True}}, 'test'),
        registry,
        limits=lambda: Limits(request_bytes=2**30),
    )


@pytest.fixture
def decodings(monkeypatch):
    """Return the list of decodings without a type, which is how a request is decoded again."""
    made = []
    decode = msgspec.json.decode
    monkeypatch.setattr(
        msgspec.json, 'decode', lambda *args, **more: made.append(args) or decode(*args, **more)
    )
    return made


def padded(asked, size=LARGE):
    """Return the request as JSON of about `size` bytes."""
    return json.dumps({'padding': ['x' * 100] * (size // 104), **asked})


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (
            lambda asked: asked['cluster'].update(
                nodes=[node(1, details={'addresses': {'odd': [{'addr': 1, 'version': 4}]}})]
            ),
            'Expected `str`, got `int` - at `$.cluster.nodes[0].details.addresses[...][0].addr`',
        ),
        (lambda asked: asked.update(target='NEVER'), "Invalid enum value 'NEVER' - at `$.target`"),
        (
            lambda asked: asked.update(expires_at='soon'),
            'Invalid RFC3339 encoded datetime - at `$.expires_at`',
        ),
        (
            lambda asked: asked['cluster'].update(min_size=-1),
            'Expected `int` >= 0 - at `$.cluster.min_size`',
        ),
    ],
    ids=['map', 'choice', 'time', 'bound'],
)
@pytest.mark.parametrize('as_text', [True, False])
def test_decode_of_a_large_malformed_request_costs_one_decoding(
    endpoints, decodings, change, message, as_text
):
    """A malformed request of 44 MiB is refused after one decoding and at most 2 s of CPU time."""
    text = padded(changed(GOOD, change))
    asked = text if as_text else json.loads(text)
    started = time.thread_time()

    with pytest.raises(errors.InvalidRequest) as raised:
        endpoints.policy_check(asked)

    assert time.thread_time() - started < 2
    assert decodings == []
    assert str(raised.value) == message


@pytest.mark.parametrize('key', ['odd', 'a.b[0]', '[...]'])
def test_decode_of_a_wrong_value_in_a_map_names_the_map(key):
    """The error about a value of a free-form map names the map, whatever the key is."""
    wrong = node(1, details={'addresses': {key: [{'addr': 1, 'version': 4}]}})

    with pytest.raises(errors.InvalidRequest) as raised:
        codec.decode(
            changed(GOOD, lambda asked: asked['cluster'].update(nodes=[wrong])), CheckRequest
        )

    assert str(raised.value) == (
        'Expected `str`, got `int` - at `$.cluster.nodes[0].details.addresses[...][0].addr`'
    )


def test_error_about_a_long_unknown_property_is_short(endpoints):
    """An error repeats at most 1000 characters of a request."""
    asked = changed(
        GOOD, lambda asked: asked['policies'][0]['spec']['properties'].update({'x' * 10_000: 1})
    )

    with pytest.raises(errors.InvalidSpec) as raised:
        endpoints.policy_check(asked)

    assert len(str(raised.value)) < 1000


PROCESSES = 24
FIRST_AT_ONCE = """
import sys, threading
sys.setswitchinterval(1e-6)
from placement_worker.contract import codec
from placement_worker.contract.model import CheckRequest
from tests.factories import node, request, zone_policy

asked = request('CLUSTER_SCALE_IN', [zone_policy('a')], [node(1, 'a')])
ready = threading.Barrier(8)

def decode():
    ready.wait()
    codec.decode(asked, CheckRequest)

threads = [threading.Thread(target=decode) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def _status(_):
    return subprocess.run([sys.executable, '-c', FIRST_AT_ONCE], check=False).returncode


def test_decoder_of_concurrent_first_requests_does_not_crash():
    """Concurrent first requests crash no process; without the lock a third of them crash."""
    with ThreadPoolExecutor(2) as two:
        assert list(two.map(_status, range(PROCESSES))) == [0] * PROCESSES


class Silent(msgspec.Struct, frozen=True):
    """Properties that refuse a value without a text, at the root or inside of others."""

    inner: 'Silent | None' = None
    bad: bool = False

    def __post_init__(self):
        if self.bad:
            raise ValueError


@pytest.mark.parametrize(
    ('raw', 'error'),
    [
        ({'bad': True}, 'Invalid value, got `{"bad":true}` - at `$`'),
        ({'inner': {'bad': True}}, 'Invalid value, got `{"bad":true}` - at `$.inner`'),
    ],
)
def test_error_without_a_text_begins_with_words(raw, error):
    """The author of a plugin may raise ValueError without an explanation."""
    with pytest.raises(errors.InvalidRequest) as raised:
        codec.decode(raw, Silent)

    assert str(raised.value) == error
