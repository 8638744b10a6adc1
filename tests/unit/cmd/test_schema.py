"""The command `placement-policy schema`."""

import json

import pytest

from placement_worker.cmd import schema


def test_schema_without_a_name_lists_each_message_with_its_title(run):
    """Each line names a message and says what it is."""
    status, out, err = run('schema')

    lines = [line.split(maxsplit=1) for line in out.splitlines()]
    assert (status, err) == (0, '')
    assert [name for name, _ in lines] == sorted(set(schema.names()))
    assert len(lines) == 27
    assert ['policy_check.cast_reply', 'Reply to a cast of policy_check'] in lines
    assert max(map(len, out.splitlines())) <= 79


@pytest.mark.parametrize('name', schema.names())
def test_schema_of_a_message_prints_the_shipped_file(name, run):
    """The output is the JSON that the package ships."""
    status, out, err = run('schema', name)

    assert (status, err) == (0, '')
    assert out == schema.text(name)
    assert json.loads(out)['title']


@pytest.mark.parametrize(
    ('name', 'message'),
    [
        (
            'policy_chek.request',
            'Unknown message "policy_chek.request". Did you mean "policy_check.request"?',
        ),
        ('../../py.typed', 'Unknown message "../../py.typed".'),
        ('\x1b[31m' + 'x' * 100, 'Unknown message "\\u001b[31m' + 'x' * 75 + '".'),
    ],
)
def test_schema_of_an_unknown_message_suggests_a_similar_one(name, message, run):
    """An unknown name is one line of error with a hint, and prints no file."""
    status, out, err = run('schema', name)

    assert (status, out) == (2, '')
    assert err == (
        f'placement-policy schema: {message} Run "placement-policy schema" for the list of names\n'
    )
