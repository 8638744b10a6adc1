"""The errors of a message that is not published."""

from placement_worker.client.publish_errors import (
    BrokerUnavailable,
    DestinationMissing,
    DestinationRefused,
    PublishersBlocked,
)


def test_only_a_refusal_that_lasts_is_for_good():
    """A queue that is full or missing may take the message later."""
    assert DestinationRefused('forbidden', for_good=True).for_good
    assert not DestinationRefused('full').for_good
    assert not DestinationMissing('none').for_good


def test_blocked_publishers_name_the_command_that_shows_the_alarm():
    """A broker that blocks publishers looks like one that is gone, and its operator can see it."""
    error = PublishersBlocked()

    assert isinstance(error, BrokerUnavailable)
    assert not error.was_lost
    assert str(error).endswith('run "rabbitmq-diagnostics check_local_alarms"')
