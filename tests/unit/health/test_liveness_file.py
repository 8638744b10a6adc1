"""The liveness file in a temporary folder."""

import json

from placement_worker.health.liveness_file import LivenessFile


def test_write_replaces_the_file_and_leaves_no_other(tmp_path):
    """A reader never finds half of a document, and the folder holds no leftovers."""
    path = tmp_path / 'liveness'
    file = LivenessFile(str(path))

    file.write({'alive': True})
    file.write({'alive': False})

    assert json.loads(path.read_text()) == {'alive': False}
    assert list(tmp_path.iterdir()) == [path]


def test_write_that_fails_is_logged_once_until_it_succeeds(tmp_path, caplog):
    """A folder that is missing for hours does not flood the log."""
    folder = tmp_path / 'late'
    file = LivenessFile(str(folder / 'liveness'))

    file.write({})
    file.write({})
    folder.mkdir()
    file.write({})
    folder.joinpath('liveness').unlink()
    folder.rmdir()
    file.write({})

    assert len(caplog.messages) == 2
    assert caplog.messages[0].startswith('Cannot write [worker] liveness_file: ')


def test_remove_deletes_the_file_and_accepts_a_missing_one(tmp_path):
    """A worker that has ended leaves no file that reports it as alive."""
    path = tmp_path / 'liveness'
    file = LivenessFile(str(path))
    file.write({})

    file.remove()
    file.remove()

    assert not path.exists()


def test_file_without_a_path_is_never_written(tmp_path, monkeypatch):
    """A worker without the option writes no liveness file."""
    monkeypatch.chdir(tmp_path)
    file = LivenessFile(None)

    file.write({})
    file.remove()

    assert list(tmp_path.iterdir()) == []
