"""The program `placement-worker`."""

from tests.unit.subprocesses import run_python


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

    done = run_python('-c', code)

    assert (done.returncode, done.stdout, done.stderr) == (130, '', '')


CODE = """
import sys
from placement_worker.cmd import threading_backend, worker
assert 'oslo_messaging' not in sys.modules
threading_backend.choose()
from oslo_service import backend
print(backend.get_backend_type().name, 'eventlet' in sys.modules)
"""


def test_choose_before_oslo_messaging_selects_threads_without_output():
    """The program chooses threads before it imports oslo.messaging, and without any output."""
    # Older releases of oslo.log import a deprecated module of oslo.utils.
    warnings = ['-W', 'error', '-W', 'ignore:eventletutils module is deprecated:DeprecationWarning']

    done = run_python(*warnings, '-c', CODE)

    assert done.stderr == ''
    assert done.stdout.startswith('THREADING ')
