"""The log lines of an outage of the broker."""

import logging

import pytest

from placement_worker.messaging.late_ack.outage_log import OutageLog

HOST = 'broker:5672'


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def outages(clock, caplog):
    caplog.set_level(logging.INFO)
    return OutageLog(clock)


def test_outage_of_all_connections_of_a_process_is_logged_once(outages, clock, caplog):
    """A lost broker adds two lines per process to the log, not two per connection."""
    for topic in ('t', 't-slow', 't-suspects'):
        outages.lost(topic, HOST, 'closed')
    clock.now += 2.25
    for topic in ('t-slow', 't', 't-suspects'):
        outages.restored(topic, HOST)

    assert caplog.messages == [
        'Lost the connection to the broker at broker:5672 (topic t): closed',
        'Reconnected to the broker at broker:5672 (topics t, t-slow, t-suspects) after 2.2 s',
    ]


def test_losses_of_an_outage_with_another_host_or_cause_are_logged(outages, caplog):
    """The log has each host and each cause of an outage."""
    outages.lost('t', HOST, 'closed')
    outages.lost('t-slow', HOST, 'reset')
    outages.lost('t-suspects', 'other:5672', 'closed')

    assert [message.partition('broker at ')[2] for message in caplog.messages] == [
        'broker:5672 (topic t): closed',
        'broker:5672 (topic t-slow): reset',
        'other:5672 (topic t-suspects): closed',
    ]


def test_failed_attempts_are_logged_every_30_s_with_the_topics_that_are_lost(
    outages, clock, caplog
):
    """The log says how long which topics are without a connection."""
    outages.lost('t', HOST, 'closed')
    outages.lost('t-slow', HOST, 'closed')
    for _ in range(70):
        clock.now += 1
        outages.attempt_failed(HOST, 'refused')
    outages.restored('t', HOST)
    clock.now += 30
    outages.attempt_failed(HOST, 'refused')

    assert caplog.messages[1:] == [
        'No broker connection for 30 s (topics t, t-slow); broker:5672: refused',
        'No broker connection for 60 s (topics t, t-slow); broker:5672: refused',
        'No broker connection for 100 s (topic t-slow); broker:5672: refused',
    ]


def test_second_outage_is_logged_like_the_first(outages, clock, caplog):
    """An outage with the cause of an earlier one is not taken for it."""
    for _ in range(2):
        outages.lost('t', HOST, 'closed')
        clock.now += 1
        outages.restored('t', HOST)

    assert caplog.messages[:2] == caplog.messages[2:]
    assert caplog.messages[1].endswith(' (topic t) after 1.0 s')
