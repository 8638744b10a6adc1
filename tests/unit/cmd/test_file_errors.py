"""Errors of commands: all errors of a document with their lines, and hints."""

import pytest
import yaml

from placement_worker import errors
from placement_worker.cmd import file_errors
from placement_worker.contract.model import BindRequest, CheckRequest, Spec
from placement_worker.formats import documents
from placement_worker.formats.documents import Position, Problem, Source
from tests.factories import bind, changed, deletion_policy, nodes, request, zone_policy

GOOD = request('CLUSTER_SCALE_IN', [zone_policy('a'), deletion_policy()], nodes(a=2))
BAD = {'zones': [{'name': 'a', 'weight': 'x'}, {'nam': 'b'}]}


def shown(exc, document, kind):
    """Return the headline and the details of the errors of a document."""
    (read,) = documents.parse(Source('f', yaml.safe_dump(document, sort_keys=False)))
    error = file_errors.invalid_document(exc, read, kind, str(exc))
    return file_errors.headline(error, read), list(file_errors.problem_lines(error))


def wrong_places(asked):
    asked['action'].update(id=7, node={'id': 'n9', 'data': {'placement': 'a'}})
    asked['cluster']['nodes'][1]['data']['placement'].update(zone=5)


@pytest.mark.parametrize(
    ('change', 'headline', 'last'),
    [
        (
            lambda r: (r['action'].update(id=7), r.update(target='NEVER')),
            'f: 2 errors',
            [
                'f:1:9: Expected one of `AFTER`, `BEFORE`, got `NEVER` - at `$.target`',
                '     1 | target: NEVER',
                '       |         ^',
                'f:3:7: Expected `str`, got `int` - at `$.action.id`',
                '     3 |   id: 7',
                '       |       ^',
            ],
        ),
        (
            wrong_places,
            'f: 3 errors',
            [
                'f:32:15: Expected `str | null`, got `int` - at '
                '`$.cluster.nodes[1].data.placement.zone`',
                '    32 |         zone: 5',
                '       |               ^',
            ],
        ),
        (
            lambda r: (r['cluster'].update(nodes=[{'id': 7}] * 9), r['action'].update(id=7)),
            'f: 2 errors',
            [
                'f:14:9: Expected `str`, got `int` (9 times) - at `$.cluster.nodes[0].id`',
                '    14 |     id: 7',
                '       |         ^',
            ],
        ),
        (
            lambda r: r.update({f'key{n}': 1 for n in range(20)}),
            'f: at least 12 errors',
            ['and at least 2 more errors'],
        ),
    ],
    ids=['several', 'places', 'alike', 'limit'],
)
def test_errors_are_counted_and_shown_with_their_lines(monkeypatch, change, headline, last):
    """Each error has its position, a snippet and a caret, up to a limit of the search."""
    monkeypatch.setattr(file_errors, 'MAX_FOUND', 12)

    found, lines = shown(errors.InvalidRequest('x'), changed(GOOD, change), CheckRequest)

    assert (found, lines[-len(last) :]) == (headline, last)


@pytest.mark.parametrize(
    ('document', 'kind', 'path'),
    [
        (changed(GOOD, lambda r: r['policies'][0]['spec'].update(properties=BAD)), CheckRequest,
         '$.policies[0].spec.properties'),
        ({**bind(zone_policy('a')), 'policy': {**zone_policy('a'), 'spec': {
            **zone_policy('a')['spec'], 'properties': BAD}}}, BindRequest,
         '$.policy.spec.properties'),
        ({**zone_policy('a')['spec'], 'properties': BAD}, Spec, '$.properties'),
    ],
    ids=['check', 'attach', 'validate'],
)  # fmt: skip
def test_errors_in_the_properties_of_a_policy_are_all_found(document, kind, path):
    """A refused spec is searched with the schema of its type, wherever the spec is."""
    headline, lines = shown(errors.InvalidSpec('x'), document, kind)

    assert headline == 'f: 3 errors'
    assert [line.partition(': ')[2] for line in lines if line.startswith('f:')] == [
        f'Expected `int`, got `str` - at `{path}.zones[0].weight`',
        f'Unknown key `nam` (did you mean `name`?) - at `{path}.zones[1]`',
        f'Object missing required field `name` - at `{path}.zones[1]`',
    ]


def test_line_that_may_hold_a_secret_is_not_shown():
    """A snippet never shows a line that names a secret."""
    document = changed(GOOD, lambda r: r.update(credentials={'trust_id': ['s3cr3t']}))

    headline, lines = shown(errors.InvalidRequest('x'), document, CheckRequest)

    assert headline.endswith('Expected `str | null`, got `array` - at `$.credentials.trust_id`')
    assert 's3cr3t' not in ''.join(lines)


ERRORS = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)
]


@pytest.mark.parametrize('kind', ERRORS, ids=lambda kind: kind.__name__)
def test_with_hint_of_each_error_of_a_command_adds_a_hint(kind):
    """Each type of error that a command can report has a hint."""
    is_rejection = issubclass(kind, errors.Rejected)
    inside_replies = is_rejection and not issubclass(kind, errors.CloudUnavailable)
    has_none = inside_replies or kind is errors.PlacementWorkerError

    assert ('; ' in file_errors.with_hint(kind('It is wrong.'))) is not has_none


REFUSED = 'The request could not be delivered: 127.0.0.1:5672: (403) ACCESS_REFUSED - access to '
HINTS = [
    (errors.ServiceRefused, 'Compute: HTTP 403', 'correct the cause and try again'),
    (errors.NoWorkerAnswered, 'No worker replied', 'check that a worker serves this broker and '),
    (errors.BrokerRefused, f"{REFUSED}queue 'reply_1' in vhost 'placement' refused",
     'the broker runs, but this user lacks a permission; use the broker user of an operator '),
    (errors.BrokerRefused, f"{REFUSED}topic 'other' in exchange 'placement_worker' refused",
     'the broker runs, but the topic permissions of this user forbid this topic; compare the '),
    (errors.BrokerUnreachable, 'The request could not be delivered: the broker blocks publishers',
     'check that RabbitMQ runs at this address, and has no alarm'),
    (errors.PolicyTypeNotFound, 'Policy type a-1.0 was skipped: no module',
     'correct the cause, and restart the workers'),
    (documents.Malformed, "f:3:1: found the key 'a' twice", 'remove one of the two'),
    (documents.Malformed, 'f:2:1: found a tab character', 'indent with spaces'),
    (documents.Malformed, 'f:2:1: did not find', 'write the file in YAML or JSON'),
    (documents.Damaged, 'f.gz cannot be decompressed: Not a gzipped file',
     'remove .gz from the name of a file that is not compressed'),
    (documents.Damaged, 'f.gz cannot be decompressed: end', 'copy the file again, or omit it'),
    (errors.InvalidRequest, 'Expected `object`, got `str` - at `$`',
     'this file has text without keys; check its name'),
    (errors.UnsupportedAction, 'Expected an action',
     'run "placement-policy schema policy_check.request" for the actions of Senlin'),
    (errors.WorkerFailed, 'policy_check failed: KeyError: 1 (in a.b-1.0, a plugin of a)',
     'run "placement-policy --debug ..." for the traceback, and report it to the maintainers of '
     'the plugin'),
    (errors.WorkerFailed, 'policy_check failed in the worker: KeyError: 1',
     'look for the traceback in the log of the worker, and report it to the maintainers of '
     'placement-worker'),
    (errors.BrokerRefused,
     "The read permission is missing on the broker: access to queue 'placement-worker-parked' "
     'refused; the page "Security" of the manual has the command that grants it',
     'the parking lot is open to the broker user of an operator'),
    # An error that names a command or a remedy needs no second one.
    (errors.InvalidRequest, 'No parked request 7; run "placement-policy parked list" for it', ''),
    (errors.BrokerRefused, 'No TLS: wrong version; this port may be without TLS: check', ''),
    (errors.BrokerRefused, 'h:5672 refused access: 403; check user and password', ''),
    (errors.BrokerRefused, 'No read permission; the page "Security" has the command', ''),
    (errors.NoWorkerAnswered, 'There is no queue for t; start one, or correct the topic', ''),
    (errors.PolicyTypeNotFound, 'Policy type a-1; write type and version apart: `type: a`', ''),
]  # fmt: skip


@pytest.mark.parametrize(('kind', 'text', 'hint'), HINTS)
def test_hint_fits_the_error_and_its_text_unless_the_text_has_one(kind, text, hint):
    """The hint names the cause that is most frequent for the type of the error and its text."""
    line = file_errors.with_hint(kind(text))

    assert line.startswith(f'{text}; {hint}' if hint else text)
    assert hint or line == text


@pytest.mark.parametrize(
    ('text', 'column', 'lines'),
    [
        ('index: one', 8, ['     1 | index: one', '       |        ^']),
        ('\tindex: one', 9, ['     1 |  index: one', '       |         ^']),
        ('東京: one', 5, ['     1 | 東京: one', '       |       ^']),
        ('a\x1b: one', 5, ['     1 | a\\u001b: one', '       |          ^']),
        ('', 1, ['     1 | ', '       | ^']),
        ('x' * 100, 100, ['     1 | ' + 'x' * 100, '       | ' + ' ' * 99 + '^']),
        ('x' * 101 + 'Yz', 102, ['     1 | ...' + 'x' * 60 + 'Yz', '       | ' + ' ' * 63 + '^']),
        (
            'x' * 5000 + 'Y' + 'z' * 5000,
            5001,
            ['     1 | ...' + 'x' * 60 + 'Y' + 'z' * 39 + '...', '       | ' + ' ' * 63 + '^'],
        ),
    ],
    ids=['plain', 'tab', 'wide', 'control', 'empty', 'longest', 'cut', 'long'],
)
def test_snippet_has_a_caret_under_the_column(text, column, lines):
    """The caret is under the column, whatever the characters take; a long line is cut around it."""
    problem = Problem('wrong', Position(1, column))
    error = documents.DocumentError('wrong', Source('f', text), [problem])

    assert list(file_errors.problem_lines(error)) == lines
