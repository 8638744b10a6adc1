"""The formats of commands that list or show things, seen at the list of cordons."""

import pytest

LIST = ('cordon', 'list', '--cordon-file', 'cordons')
HOSTILE = {'zone': 'a\x1b[2J', 'until': '2000-01-01T00:00:00Z', 'reason': 'b\nc'}
LONG = {'zone': 'z' * 60, 'region': 'R', 'until': '2999-12-24T18:00:00+01:00', 'evacuate': True}
ROWS = [
    ('zone a\\u001b[2J', '2000-01-01', 'ended', 'b\\nc'),
    (f'zone {"z" * 60} of region R', '2999-12-24T18:00:00+01:00', 'evacuated', ''),
]


@pytest.mark.parametrize(
    ('options', 'text'),
    [
        ('-f value', ''.join(f'{" ".join(row)}\n' for row in ROWS)),
        ('-f value -c state --sort-column until --sort-descending', 'evacuated\nended\n'),
        ('-f value --long -c zone -c in_force', f'a\\u001b[2J no\n{"z" * 60} yes\n'),
        ('-f csv -c place -c reason', '"place","reason"\n'),
        ('-f json -c zone -c region', '"zone": "a\\u001b[2J",\n    "region": null'),
        ('-f yaml -c zone', '- zone: "a\\e[2J"\n'),
        ('-f jsonl -c evacuate', '{"evacuate": false}\n{"evacuate": true}\n'),
        ('-f jsonl', '{"zone": "a\\u001b[2J", "region": null, "until": "2000-01-01T00:00:00Z", '
         '"reason": "b\\nc", "evacuate": false, "in_force": false}\n'),
        ('--long', '| a\\u001b[2J'),
        ('--max-width 60', '| zzzzz'),
    ],
)  # fmt: skip
def test_list_in_each_format_has_the_chosen_columns_and_is_escaped(run, options, text):
    """The options of cliff work, and hostile text controls no terminal in any format."""
    status, out, err = run(*LIST, *options.split(), cordons=[HOSTILE, LONG])

    assert (status, err) == (0, '')
    assert text in out
    assert '\x1b' not in out
    if '60' in options:
        assert max(map(len, out.splitlines())) <= 60


@pytest.mark.parametrize(
    ('form', 'text'), [('table', 'No cordons.\n'), ('json', '[]\n'), ('csv', ''), ('jsonl', '')]
)
def test_list_without_rows_is_a_sentence_or_no_data(run, form, text):
    """A person reads that there is nothing; a program gets no row."""
    assert run(*LIST, '-f', form, '-c', 'place', cordons='[]') == (0, text, '')
