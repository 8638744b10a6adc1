"""A text that processes share, and that a killed process cannot damage for others."""

import os
import subprocess
import sys

import pytest

from placement_worker.cordons.shared_text import SharedText

PROGRAM = """
import os, signal
from placement_worker.cordons.shared_text import SharedText

shared = SharedText('the text at the start')
child = os.fork()
if not child:
    shared.replace('later', {condition})
    os._exit(0)
print(os.waitpid(child, 0)[1], shared.read())
"""
"""A process that replaces the text of its parent; forking is not safe in the process of a test."""


@pytest.mark.parametrize(
    ('condition', 'printed'),
    [
        ('lambda: True', '0 later'),
        ('lambda: os.kill(os.getpid(), signal.SIGKILL)', '9 the text at the start'),
    ],
    ids=['replaced', 'killed'],
)
def test_text_of_a_forked_process_is_read_in_its_parent(condition, printed):
    """A parent reads what its child wrote, and a child that is killed does not keep the lock."""
    program = PROGRAM.format(condition=condition)

    ended = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, check=True
    )

    assert ended.stdout.strip() == printed


def test_replace_with_an_outdated_text_changes_nothing():
    """A process that read the source too early does not overwrite a later text."""
    shared = SharedText('late')

    shared.replace('early', lambda: False)

    assert shared.read() == 'late'


def test_read_of_a_half_written_text_returns_none():
    """A text that a killed process left half written is not taken for a whole one."""
    shared = SharedText('- zone: az1')

    os.pwrite(shared._descriptor, b'- zone: az2', 7)

    assert shared.read() is None
