"""The messages about skipped lines of decision logs."""

from unittest.mock import Mock, call

import pytest

from placement_worker.cmd.decision_logs import MAX_SHOWN, SkippedLines


@pytest.mark.parametrize(
    ('number', 'last'),
    [
        (MAX_SHOWN, f'log, line {MAX_SHOWN}: bad; skipped the line'),
        (MAX_SHOWN + 1, 'Skipped 1 more line; check that the file is a decision log'),
        (MAX_SHOWN + 3, 'Skipped 3 more lines; check that the file is a decision log'),
    ],
)
def test_skipped_lines_beyond_the_first_share_one_message(number, last):
    """A file that is no decision log does not fill the terminal."""
    command = Mock()
    skipped = SkippedLines(command)

    for line in range(1, number + 1):
        skipped.skip('log', line, 'bad\n')
    skipped.summarize()

    messages = command.write_error.call_args_list
    assert messages[:1] == [call('log, line 1: bad; skipped the line')]
    assert len(messages) == MAX_SHOWN + (number > MAX_SHOWN)
    assert messages[-1] == call(last)
    assert skipped.number == number
