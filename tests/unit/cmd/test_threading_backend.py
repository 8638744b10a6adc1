"""The threading backend of oslo.service."""

import subprocess
import sys

CODE = """
from placement_worker.cmd import threading_backend
threading_backend.choose()
from oslo_service import backend
import sys
print(backend.get_backend_type().name, 'eventlet' in sys.modules)
"""


def test_choose_before_oslo_messaging_selects_threads_without_output():
    """The choice of threads prints nothing, and imports no eventlet where it is not installed."""
    # Older releases of oslo.log import a deprecated module of oslo.utils.
    warnings = ['-W', 'error', '-W', 'ignore:eventletutils module is deprecated:DeprecationWarning']

    done = subprocess.run(
        [sys.executable, *warnings, '-c', CODE], capture_output=True, text=True, check=False
    )

    assert done.stderr == ''
    assert done.stdout.startswith('THREADING ')
