"""The options of the placement of all clusters."""

from placement_worker.config import placement


def test_cordon_file_is_not_set_by_default():
    """There are no cordons unless an operator names a file."""
    (option,) = placement.OPTIONS

    assert (option.dest, option.default) == ('cordon_file', None)
