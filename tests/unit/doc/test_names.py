"""Names in code font, which the manual links to their descriptions."""

import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / 'doc' / 'ext'


@pytest.fixture
def names(monkeypatch):
    """Return the module of the manual that finds the description of a name."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module('names')


@pytest.mark.parametrize(
    ('name', 'option'),
    [
        ('[worker] topic', ('worker', 'topic')),
        ('[cloud] backend = openstack', ('cloud', 'backend')),
        ('[worker]', ('worker', None)),
        ('[worker', None),
        ('topic', None),
        ('Unknown option [worker] topic', None),
    ],
)
def test_option_with_its_group_is_recognized(names, option, name):
    """A link needs the group of an option, with or without a value."""
    assert names.option_of(name) == option


@pytest.mark.parametrize(
    ('name', 'labels'),
    [
        ('placement-policy parked list --format json',
         ['command-parked-list', 'command-parked', 'program-placement-policy']),
        ('placement-policy ping', ['command-ping', 'program-placement-policy']),
        ('placement-policy', ['program-placement-policy']),
        ('RequestParked', ['error-requestparked', 'contract-requestparked', 'alert-requestparked']),
        ('senlin.policy.deletion-1.1',
         ['metric-senlin.policy.deletion', 'method-senlin.policy.deletion',
          'policy-type-senlin.policy.deletion']),
        ('policy_check',
         ['metric-policy_check', 'method-policy_check', 'policy-type-policy_check']),
    ],
)  # fmt: skip
def test_labels_of_a_name_begin_with_the_most_precise_one(names, name, labels):
    """A command with its subcommand comes before the command, and that before the program."""
    assert list(names.labels_of(name)) == labels


@pytest.mark.parametrize('name', ['cluster', 'ERROR', 'node', '--format', 'placement-worker', ''])
def test_key_status_or_service_has_no_label(names, name):
    """Keys of a request are not taken for objects of the contract of a similar name."""
    assert list(names.labels_of(name)) == []
