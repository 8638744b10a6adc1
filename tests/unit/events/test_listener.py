"""The composite of listeners."""

import pytest

from placement_worker.events.listener import Listeners
from placement_worker.events.types import LoadBalancerUpdated
from tests.events import Events

EVENT = LoadBalancerUpdated()


class Broken:
    """Listener that fails."""

    def handle(self, event):
        raise KeyError('disk full')


def test_listeners_with_an_event_pass_it_to_each_in_order():
    """Each listener receives each event, in the order of the listeners."""
    received = []

    class Named:
        def __init__(self, name):
            self.name = name

        def handle(self, event):
            received.append((self.name, event))

    Listeners(Named('first'), Named('second')).handle(EVENT)

    assert received == [('first', EVENT), ('second', EVENT)]


def test_listeners_with_a_failing_listener_log_it_and_go_on(caplog):
    """A listener that raises disturbs neither the request nor the other listeners."""
    events = Events()

    Listeners(Broken(), events).handle(EVENT)

    assert events.received == [EVENT]
    assert caplog.messages == ['Listener Broken failed to handle the event LoadBalancerUpdated']
    assert 'disk full' in caplog.text


@pytest.mark.parametrize(
    ('listeners', 'expected'), [(Listeners(), False), (Listeners(Events()), True)]
)
def test_listeners_are_true_if_there_are_any(listeners, expected):
    """An empty composite is false, so that a reporter can omit work for it."""
    assert bool(listeners) is expected
