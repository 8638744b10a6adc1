"""The comparison in the documentation.

PLACEMENT_WORKER_WRITE_COMPARISON=1 writes the page again.
"""

import os
from pathlib import Path

import pytest

from tests.senlin.comparison import CASES, decide, table

PAGE = Path(__file__).parents[2] / 'doc' / 'source' / 'comparison-senlin.rst'
BEGIN, END = '.. begin of what tests/senlin/test_comparison.py found\n', '.. end of what it found\n'
WRITE = 'PLACEMENT_WORKER_WRITE_COMPARISON'


@pytest.mark.usefixtures('worker')
def test_the_comparison_in_the_documentation_is_what_senlin_and_the_worker_decide(by_itself):
    """The page compares the actual decisions of Senlin and of the worker."""
    rows = []
    for case in CASES:
        with by_itself():
            senlin = decide(case)
        rows.append((case, senlin, decide(case)))
    found = f'{BEGIN}\n{table(rows)}\n{END}'
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)

    if WRITE in os.environ:
        PAGE.write_text(before + found + after)

    assert found == BEGIN + rest.partition(END)[0] + END
