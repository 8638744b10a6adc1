"""The start of the export of metrics."""

import subprocess
import sys


def test_export_without_a_port_does_not_import_the_library():
    """A worker without metrics does not load prometheus_client."""
    code = (
        'import sys\n'
        'from placement_worker.metrics import setup\n'
        'from placement_worker.worker import process\n'
        'assert setup.export(None, "", None) is None\n'
        'assert "prometheus_client" not in sys.modules'
    )

    subprocess.run([sys.executable, '-W', 'ignore', '-c', code], check=True)
