"""The errors of the package."""

import pickle

import pytest

from placement_worker import errors


def _all_errors():
    found = [errors.PlacementWorkerError]
    for kind in found:
        found += kind.__subclasses__()
    return [kind for kind in found if kind.__module__ == errors.__name__]


@pytest.mark.parametrize('kind', _all_errors(), ids=lambda kind: kind.__name__)
def test_error_survives_a_copy_by_pickle(kind):
    """Each error keeps its class and its text when it is copied."""
    copy = pickle.loads(pickle.dumps(kind('It failed')))  # noqa: S301

    assert (type(copy), str(copy)) == (kind, 'It failed')


def test_file_error_names_file_and_cause():
    """A system error is shown with its file and without its number."""
    with pytest.raises(OSError, match='No such file') as raised:
        open('/nowhere/file')  # noqa: SIM115

    assert errors.file_error(raised.value) == '/nowhere/file: No such file or directory'
    assert errors.file_error(OSError('busy')) == 'busy'


def test_with_notes_shows_class_text_and_notes():
    """The notes of an error follow its text."""
    exc = KeyError('zone')
    exc.add_note('in acme.policy-1.0')

    assert errors.with_notes(exc) == "KeyError: 'zone' (in acme.policy-1.0)"
