"""The exchanges and topics at which no engine may receive replies."""

import pytest

from placement_worker.contract import reply_names
from placement_worker.errors import InvalidRequest


@pytest.mark.parametrize('exchange', ['', 'amq.', 'amq.topic', 'own'])
def test_check_exchange_of_the_broker_or_the_workers_raises_with_its_path(exchange):
    """The error names the exchange and its JSON path."""
    with pytest.raises(InvalidRequest, match=rf'got `{exchange}` - at `\$\.exchange`$'):
        reply_names.check_exchange(exchange, 'own', '$.exchange')


@pytest.mark.parametrize('exchange', ['engine', 'amqp', 'owner'])
def test_check_exchange_of_an_engine_accepts_it(exchange):
    """A name that merely resembles a forbidden one is accepted."""
    reply_names.check_exchange(exchange, 'own', '$.exchange')


@pytest.mark.parametrize('topic', ['requests', 'requests.host'])
def test_check_topic_of_a_queue_of_the_workers_raises_with_its_path(topic):
    """A queue of the workers is refused, that of one host as well."""
    with pytest.raises(InvalidRequest, match=rf'got `{topic}` - at `\$\.topic`$'):
        reply_names.check_topic(topic, ['requests'], '$.topic')


def test_check_topic_of_an_engine_accepts_it():
    """A topic that begins like that of the workers is accepted."""
    reply_names.check_topic('requests-replies', ['requests'], '$.topic')
