"""The start of the export of metrics."""

import socket
import subprocess
import sys
import tempfile

import pytest
from prometheus_client import values

from placement_worker.errors import ConfigurationError
from placement_worker.metrics import setup


def test_export_without_a_port_does_not_import_the_library():
    """A worker without metrics does not load prometheus_client."""
    code = (
        'import sys\n'
        'from placement_worker.metrics import setup\n'
        'from placement_worker.worker import parent_process\n'
        'assert not setup.export(None, "", None, None)\n'
        'assert "prometheus_client" not in sys.modules'
    )

    subprocess.run([sys.executable, '-W', 'ignore', '-c', code], check=True)


@pytest.fixture
def taken_port(monkeypatch):
    """Return a port that another socket holds; the library forgets the folder afterwards."""
    monkeypatch.setattr(values, 'ValueClass', values.ValueClass)
    monkeypatch.setenv('PROMETHEUS_MULTIPROC_DIR', '')
    with socket.create_server(('127.0.0.1', 0)) as server:
        yield server.getsockname()[1]


def test_export_into_a_used_folder_deletes_the_metrics_of_an_earlier_worker(tmp_path, taken_port):
    """The files of an earlier worker are deleted, and other files are kept."""
    (tmp_path / 'counter_7.db').write_bytes(b'left by an earlier worker')
    (tmp_path / 'notes').touch()

    with pytest.raises(ConfigurationError):
        setup.export(taken_port, '127.0.0.1', str(tmp_path), None)

    assert [path.name for path in tmp_path.iterdir()] == ['notes']


def test_export_creates_its_folder_or_names_the_option(tmp_path, taken_port):
    """The error about a folder that cannot be created names the option, the path and the remedy."""
    with pytest.raises(ConfigurationError):
        setup.export(taken_port, '127.0.0.1', str(tmp_path / 'metrics'), None)
    assert (tmp_path / 'metrics').is_dir()

    (tmp_path / 'file').touch()
    with pytest.raises(ConfigurationError, match=r'Cannot use \[metrics\] folder: .*/file/m: '):
        setup.export(taken_port, '127.0.0.1', str(tmp_path / 'file' / 'm'), None)


def test_export_on_a_taken_port_fails_and_removes_the_temporary_folder(
    tmp_path, taken_port, monkeypatch
):
    """A port that cannot be used is reported, and no temporary folder is left behind."""
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))

    with pytest.raises(
        ConfigurationError, match=f'port {taken_port} cannot be used: Address already in use'
    ):
        setup.export(taken_port, '127.0.0.1', None, None)

    assert list(tmp_path.iterdir()) == []
