"""Errors of configuration files for which oslo.config 10.7 names no line, or a wrong one."""

import traceback
from pathlib import Path

from oslo_config import cfg

NO_SECTION = 'Section must be started before assignment'


def describe(exc: Exception) -> str | None:
    """Return the file, the line and the cause of such an error; None for any other.

    oslo.config reports an assignment before the first section with a later line. The error of a
    byte that is not text has a position within a block of an unnamed file.
    """
    if isinstance(exc, cfg.ConfigFileParseError) and NO_SECTION in str(exc.msg):
        return _first_assignment(exc.config_file)
    path = _parsed_file(exc) if isinstance(exc, UnicodeDecodeError) else None
    for number, read in enumerate(_lines(path) if path else [], start=1):
        try:
            read.decode()
        except UnicodeDecodeError as found:
            byte = read[found.start]
            return f'Failed to parse {path}, line {number}: byte 0x{byte:02x} is not UTF-8'
    return None


def _first_assignment(path: str) -> str | None:
    for number, read in enumerate(_lines(path), start=1):
        line = read.decode().strip()
        if line and line[0] not in '#;':
            return f'Failed to parse {path}, line {number}: {NO_SECTION}: {line!r}'
    return None


def _lines(path: str) -> list[bytes]:
    return Path(path).read_bytes().split(b'\n')


def _parsed_file(exc: Exception) -> str | None:
    """Return the file that oslo.config was reading; only its frame knows it."""
    frames = (frame for frame, _ in traceback.walk_tb(exc.__traceback__))
    parsers = (frame.f_locals.get('self') for frame in frames)
    return next((one.filename for one in parsers if isinstance(one, cfg.ConfigParser)), None)
