"""The program `placement-worker`."""

import subprocess
import sys

from placement_worker.cmd import worker


def test_main_with_help_prints_the_options():
    """The help of the daemon names its configuration file."""
    code = 'import sys; sys.argv = ["placement-worker", "--help"]; '
    code += 'from placement_worker.cmd import worker; sys.exit(worker.main())'

    # In development mode Python shows deprecations of libraries.
    command = [sys.executable, '-W', 'ignore::DeprecationWarning', '-c', code]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, '')
    assert '--config-file' in done.stdout


def test_import_of_the_program_loads_no_messaging():
    """The backend can be chosen because the module does not import oslo.messaging."""
    code = f'import {worker.__name__}, sys; sys.exit("oslo_messaging" in sys.modules)'

    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0
