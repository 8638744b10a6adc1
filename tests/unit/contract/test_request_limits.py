"""The limits of requests."""

from placement_worker.contract.request_limits import Limits


def test_limits_default_to_a_thousand_nodes_and_64_mib():
    """The defaults of the limits are those of the manual."""
    assert Limits() == Limits(nodes_per_cluster=1000, request_bytes=67_108_864)
