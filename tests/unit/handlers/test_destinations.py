"""The targets that `reply_to` may name."""

import msgspec
import pytest

from placement_worker.contract import codec
from placement_worker.contract.model import ReplyTo
from placement_worker.errors import InvalidRequest
from placement_worker.handlers.destinations import Destinations

QUEUES = ['workers-suspects', 'workers-parked']
OPEN = {'exchange': 'own', 'queues': QUEUES, 'notification_topics': ['audit', 'billing']}


@pytest.mark.parametrize(
    ('exchange', 'topic'),
    [
        ('', 'workers-parked'),
        ('', 'anything'),
        ('amq.topic', 'replies'),
        ('amq.direct', 'replies'),
        ('amq.', 'replies'),
        ('own', 'replies'),
        ('engine', 'audit'),
        ('engine', 'audit.info'),
        ('engine', 'audit.error'),
        ('engine', 'billing.sample'),
        ('engine', 'workers-suspects'),
        ('engine', 'workers-parked'),
        ('engine', 'workers-parked.host'),
    ],
)
@pytest.mark.parametrize('allowed', [(), ('*',), ('*/*',)])
def test_check_of_a_forbidden_target_is_refused_whatever_is_allowed(exchange, topic, allowed):
    """No allow-list opens the targets that are always forbidden."""
    with pytest.raises(InvalidRequest, match=r'at `\$\.reply_to\.(exchange|topic)`$'):
        Destinations(allowed, **OPEN).check(ReplyTo(exchange, topic, 'm'))


@pytest.mark.parametrize(
    ('exchange', 'topic'),
    [('engine', 'replies'), ('amqp', 'replies'), ('owner', 'audits'), ('engine', 'my.audit')],
)
def test_check_without_an_allow_list_accepts_all_other_targets(exchange, topic):
    """Names that merely resemble forbidden ones are accepted."""
    Destinations(**OPEN).check(ReplyTo(exchange, topic, 'm'))


@pytest.mark.parametrize(
    ('exchange', 'topic', 'accepted'),
    [
        ('engine', 'anything', True),
        ('engine2', 'anything', False),
        ('senlin-1', 'replies', True),
        ('senlin-1', 'other', False),
        ('foreign', 'replies', False),
    ],
)
def test_check_with_an_allow_list_accepts_what_a_pattern_matches(exchange, topic, accepted):
    """A pattern without a topic allows every topic of its exchanges; `*` stands for any
    characters.
    """
    destinations = Destinations(['engine', 'senlin-*/replies'], **OPEN)
    if accepted:
        destinations.check(ReplyTo(exchange, topic, 'm'))
    else:
        with pytest.raises(InvalidRequest, match='reply_to_allowed'):
            destinations.check(ReplyTo(exchange, topic, 'm'))


@pytest.mark.parametrize('name', ['a b', 'a\n', '\x1b[2J', 'a#', '*', 'ä', 'a' * 256])
@pytest.mark.parametrize('key', ['exchange', 'topic', 'method'])
def test_decode_of_a_name_with_other_characters_is_refused(key, name):
    """No wildcard, white space or control character, and no long name, passes the decoder."""
    to = {'exchange': 'engine', 'topic': 'replies', 'method': 'policy_checked', key: name}

    with pytest.raises(InvalidRequest, match=rf'`\$\.{key}`'):
        codec.decode(to, ReplyTo)


@pytest.mark.parametrize('method', ['__init__', 'policy_checked', 'm2'])
def test_decode_of_an_identifier_accepts_it_as_a_method(method):
    """A method is an identifier."""
    assert (
        msgspec.convert({'exchange': 'e', 'topic': 't', 'method': method}, ReplyTo).method == method
    )


@pytest.mark.parametrize('method', ['2m', 'a.b', 'a-b', ''])
def test_decode_of_a_method_that_is_no_identifier_is_refused(method):
    """A method that no object can have is refused."""
    with pytest.raises(InvalidRequest):
        codec.decode({'exchange': 'e', 'topic': 't', 'method': method}, ReplyTo)
