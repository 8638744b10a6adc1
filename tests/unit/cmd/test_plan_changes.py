"""The changes of a plan."""

from tests.unit.cmd.pool_changes import with_pool


def test_changes_with_an_unchanged_pool_are_none():
    """A pool that keeps its members is no change."""
    assert with_pool().any
    assert not with_pool(added=[]).any
