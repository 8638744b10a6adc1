"""The table of specs and of Senlin's responses to them."""

import json

from tests.senlin.spec_table import TABLE, answer


def test_the_table_of_specs_is_what_senlin_answers(senlin_here):
    """Each row of the table holds the answer of Senlin's own code, word for word."""
    rows = json.loads(TABLE.read_text())

    assert [{**row, **answer(row['spec'])} for row in rows] == rows
