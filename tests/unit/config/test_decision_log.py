"""The options of the decision log."""

from placement_worker.config import decision_log


def test_file_is_not_set_by_default():
    """A worker records no decisions unless an operator names a file."""
    (option,) = decision_log.OPTIONS

    assert (option.dest, option.default) == ('file', None)
