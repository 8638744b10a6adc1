"""The hints of error messages."""

import pytest

from placement_worker import errors
from placement_worker.cmd import hints
from placement_worker.formats import documents

ERRORS = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)
]


@pytest.mark.parametrize('kind', ERRORS, ids=lambda kind: kind.__name__)
def test_with_hint_of_each_error_of_a_command_adds_a_hint(kind):
    """Each type of error that a command can report has a hint."""
    inside_replies = issubclass(kind, errors.Rejected) and not issubclass(
        kind, errors.CloudUnavailable
    )
    roots = (errors.PlacementWorkerError,)

    assert ('; ' in hints.with_hint(kind('It is wrong.'))) is not (inside_replies or kind in roots)


def test_with_hint_of_a_refusal_advises_to_correct_the_cause():
    """A refused request of a service is not worth waiting for."""
    refused = (
        'Compute service refused the request: HTTP 403; check that the roles let it list zones'
    )

    assert (
        hints.with_hint(errors.ServiceRefused(refused))
        == f'{refused}; correct the cause and try again'
    )


def test_with_hint_of_a_missing_reply_names_the_cause_before_a_longer_timeout():
    """While all threads are occupied, a longer timeout does not help."""
    assert hints.with_hint(errors.NoWorkerAnswered('No worker replied')) == (
        'No worker replied; check that a worker serves this broker and has a free thread '
        '("Nothing happens" in the runbook); increase --timeout only if a request takes longer'
    )


def test_with_hint_of_a_missing_permission_names_the_user_to_use():
    """A user without a permission is advised to use another user, not to check RabbitMQ."""
    text = (
        'The request could not be delivered: 127.0.0.1:5672: Queue.declare: (403) ACCESS_REFUSED - '
        "access to queue 'reply_1' in vhost 'placement' refused for user 'placement-worker'"
    )

    assert hints.with_hint(errors.BrokerRefused(text)) == (
        f'{text}; the broker runs, but this user lacks a permission; use the broker user of an '
        'operator ("Configuration of operators" in the manual)'
    )


def test_with_hint_of_a_missing_topic_permission_names_the_command_that_lists_them():
    """Topic permissions are easily overlooked: `list_permissions` does not show them."""
    text = (
        'The request could not be delivered: Basic.publish: (403) ACCESS_REFUSED - '
        "access to topic 'other' in exchange 'placement_worker' in vhost 'placement' refused for "
        "user 'operator'"
    )

    assert hints.with_hint(errors.BrokerRefused(text)) == (
        f'{text}; the broker runs, but the topic permissions of this user forbid this topic; '
        'compare the topic with "rabbitmqctl list_topic_permissions"'
    )


def test_with_hint_of_an_error_that_names_a_command_adds_none():
    """An error that names a command needs no second hint."""
    text = 'No parked request 7; run "placement-policy parked list" for the parked requests'

    assert hints.with_hint(errors.InvalidRequest(text)) == text


@pytest.mark.parametrize(
    'text',
    [
        'No TLS with the broker at h:5672: wrong version number; this port may be without TLS: '
        'check port and ssl',
        'The broker at h:5672 refused access: 403; check user and password',
        'The read permission is missing on the broker: 403; the page "Security of the bus" of the '
        'manual has the rabbitmqctl command that grants it',
    ],
)
def test_with_hint_of_refused_access_with_a_remedy_adds_none(text):
    """An error of the broker that names its remedy needs no second one."""
    assert hints.with_hint(errors.BrokerRefused(text)) == text


@pytest.mark.parametrize(
    'text',
    [
        'Queue p-parked does not exist, so no request is parked: no worker has started on this '
        'broker since its data were created; if "placement-policy ping" gets no reply either, '
        'start a worker, or correct the transport URL or [worker] topic',
        'There is no queue for topic t: no worker has served this topic of exchange e; start one, '
        'or correct the topic or the exchange',
    ],
)
def test_with_hint_of_a_missing_queue_advises_no_longer_timeout(text):
    """A command that waits longer for a queue that does not exist does not help."""
    assert hints.with_hint(errors.NoWorkerAnswered(text)) == text


@pytest.mark.parametrize(
    ('error', 'hint'),
    [
        (documents.Malformed("f:3:1: found the key 'a' twice"), 'remove one of the two'),
        (documents.Malformed('f:2:1: found a tab character'), 'indent with spaces'),
        (documents.Malformed('f:2:1: did not find'), 'write the file in YAML or JSON'),
        (
            documents.Damaged('f.gz cannot be decompressed: Not a gzipped file'),
            'remove .gz from the name of a file that is not compressed',
        ),
        (documents.Damaged('f.gz cannot be decompressed: end'), 'copy the file again, or omit it'),
        (
            errors.InvalidRequest('Expected `object`, got `str` - at `$`'),
            'this file has text without keys; check its name',
        ),
        (
            errors.UnsupportedAction('Expected an action'),
            'run "placement-policy schema policy_check.request" for the actions of Senlin',
        ),
    ],
    ids=str,
)
def test_with_hint_of_an_error_of_a_file_fits_its_text(error, hint):
    """Frequent mistakes in files have a hint of their own."""
    assert hints.with_hint(error) == f'{error}; {hint}'


@pytest.mark.parametrize(
    ('text', 'hint'),
    [
        (
            'policy_check failed: KeyError: 1 (in a.b-1.0, a plugin of a)',
            'run "placement-policy --debug ..." for the traceback, and report it to the '
            'maintainers of the plugin',
        ),
        (
            'policy_check failed in the worker: KeyError: 1',
            'look for the traceback in the log of the worker, and report it to the maintainers of '
            'placement-worker',
        ),
    ],
)
def test_with_hint_of_an_internal_error_says_where_its_traceback_is(text, hint):
    """The hint names the place of the traceback and the maintainers of the code that failed."""
    assert hints.with_hint(errors.WorkerFailed(text)) == f'{text}; {hint}'
