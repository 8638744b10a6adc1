"""The logs of processes in the report of a test that fails."""

import os
from types import SimpleNamespace

import pytest

from tests import failure_logs


@pytest.fixture
def watched(tmp_path, monkeypatch):
    """Watch more files than a report shows, written one after the other."""
    monkeypatch.setattr(failure_logs, '_watched', set())
    files = [tmp_path / str(number) for number in range(failure_logs.FILES + 2)]
    for number, file in enumerate(files):
        file.write_text(''.join(f'{line}\n' for line in range(failure_logs.LINES + 1)))
        os.utime(file, (number, number))
    failure_logs.watch(*files, tmp_path / 'missing')
    return files


def sections(failed):
    """Return the sections that the hook adds to a report."""
    report = SimpleNamespace(failed=failed, sections=[])
    hook = failure_logs.pytest_runtest_makereport()
    next(hook)
    with pytest.raises(StopIteration):
        hook.send(report)
    return report.sections


def test_failure_shows_the_end_of_the_files_that_were_written_last(watched):
    """The report of a failure has the last lines of the logs in use, and of no missing file."""
    shown = dict(sections(failed=True))

    assert list(shown) == [f'End of {file}' for file in watched[-failure_logs.FILES :]]
    lines = shown[f'End of {watched[-1]}'].splitlines()
    assert lines == [str(line) for line in range(1, failure_logs.LINES + 1)]


def test_passed_test_shows_no_log(watched):
    """The report of a test that passes has no logs."""
    assert sections(failed=False) == []
