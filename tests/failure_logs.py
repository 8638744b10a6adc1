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
    report = yield
    if report.failed:
        written = [file for file in _watched if file.exists() and file.stat().st_size]
        for file in sorted(written, key=lambda file: file.stat().st_mtime)[-FILES:]:
            lines = file.read_text(errors='replace').splitlines()[-LINES:]
            report.sections.append((f'End of {file}', '\n'.join(lines)))
    return report
