"""The logs of brokers and workers in the report of a test that fails."""

from collections.abc import Generator
from pathlib import Path

import pytest

FILES = 6
LINES = 80
_watched: set[Path] = set()


def watch(*files: Path) -> None:
    """Show the end of files with each later failure while they are among those written last."""
    _watched.update(files)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the end of the files that were written last to the report of a failure."""
    report = yield
    if report.failed:
        report.sections += [(f'End of {file}', _end(file)) for file in _last_written()]
    return report


def _last_written() -> list[Path]:
    """Return the files that were written last, the latest one at the end."""
    written = [file for file in _watched if file.exists() and file.stat().st_size]
    return sorted(written, key=lambda file: file.stat().st_mtime)[-FILES:]


def _end(file: Path) -> str:
    return '\n'.join(file.read_text(errors='replace').splitlines()[-LINES:])
