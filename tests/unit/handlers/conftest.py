"""Endpoints over a small cloud, and what they send."""

import itertools

import msgspec
import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.errors import CloudUnavailable
from placement_worker.events.types import BindingEnded, CheckEnded, RequestFailed, RequestStarted
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.messaging.notifications import ended, started
from tests.factories import NOW

CLOUD = Inventory.parse({'zones': {'a': True, 'b': True, 'down': False}, 'regions': ['R1']}, 'test')


class Recorder:
    """Listener and delivery that keep notifications and replies."""

    def __init__(self):
        self.sent = []

    def handle(self, event):
        match event:
            case RequestFailed(method, error, request_id):
                self.sent.append((f'{method}.error', type(error).__name__, str(error), request_id))
            case RequestStarted(method, request, request_id):
                self.sent.append((f'{method}.start', started(request, request_id)))
            case CheckEnded(request, reply, _, request_id):
                self.sent.append(('policy_check.end', ended(request, reply, request_id)))
            case BindingEnded(method, request, reply, request_id=request_id):
                self.sent.append((f'{method}.end', ended(request, reply, request_id)))

    def reply(self, to, request_id, reply, left_s):
        self.sent.append(('reply', to.exchange, to.topic, to.method, request_id, reply))


@pytest.fixture
def outbox():
    return Recorder()


@pytest.fixture
def endpoints(registry, outbox):
    return Endpoints(
        CLOUD,
        registry,
        WorkerSettings(
            events=outbox, delivery=outbox, now=lambda: NOW, clock=itertools.repeat(0.0).__next__
        ),
    )


class Refusing:
    def acting_for(self, credentials, project):
        raise CloudUnavailable('No trust, no cloud.')


TO = {'exchange': 'engine', 'topic': 'replies', 'method': 'policy_checked'}

# The forms of a request: an object, and the same object as a JSON string.
FORMS = [lambda asked: asked, lambda asked: msgspec.json.encode(asked).decode()]
