"""The program `placement-worker`."""

import subprocess
import sys

from placement_worker.cmd import worker


def test_main_with_ctrl_c_during_its_imports_ends_silently():
    """An operator who stops the start sees no traceback."""
    code = (
        'import signal, sys; from placement_worker.cmd import worker\n'
        # A shell lets its jobs in the background ignore SIGINT.
        'signal.signal(signal.SIGINT, signal.default_int_handler)\n'
        'class Finder:\n'
        '    find_spec = lambda *_: signal.raise_signal(signal.SIGINT)\n'
        'sys.meta_path.insert(0, Finder)\n'
        'sys.exit(worker.main())'
    )

    command = [sys.executable, '-c', code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (130, '', '')


def test_import_of_the_program_loads_no_messaging():
    """The backend can be chosen because the module does not import oslo.messaging."""
    code = f'import {worker.__name__}, sys; sys.exit("oslo_messaging" in sys.modules)'

    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0


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
