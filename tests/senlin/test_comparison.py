"""The comparison in the documentation.

PLACEMENT_WORKER_WRITE_COMPARISON=1 writes its table again.
"""

import os
from pathlib import Path

import pytest

from tests.senlin.comparison import CASES, decide, table

TABLE = Path(__file__).parents[2] / 'doc' / 'source' / 'comparison-senlin.inc'
WRITE = 'PLACEMENT_WORKER_WRITE_COMPARISON'


@pytest.mark.usefixtures('worker')
def test_the_comparison_in_the_documentation_is_what_senlin_and_the_worker_decide(by_itself):
    """The page compares the actual decisions of Senlin and of the worker."""
    rows = []
    for case in CASES:
        with by_itself():
            senlin = decide(case)
        rows.append((case, senlin, decide(case)))
    found = table(rows).strip() + '\n'

    if WRITE in os.environ:
        TABLE.write_text(found, encoding='utf-8')

    assert found == TABLE.read_text(encoding='utf-8')
