"""The line of the log about a process that ended by itself."""

import pytest

from placement_worker.worker import process_deaths


@pytest.mark.parametrize(
    ('exit_code', 'end'),
    [
        (3, 'exited with status 3'),
        (0, 'exited with status 0'),
        (-9, 'was killed by SIGKILL'),
        (-40, 'was killed by signal 40'),
    ],
)
def test_death_of_a_process_is_logged_at_warning_with_its_cause(caplog, exit_code, end):
    """An operator finds a killed process, for example one out of memory, in the worker's log."""
    process_deaths.warn(None, 1, exit_code)

    (record,) = caplog.records
    assert (record.name, record.levelname, record.getMessage()) == (
        'placement_worker.worker.process_deaths',
        'WARNING',
        f'Process 1 of the worker {end}; another process takes its place, and the broker delivers '
        'its requests in flight again',
    )
