"""The search for misspelled statuses of nodes."""

import pytest

from placement_worker.cmd import node_statuses
from placement_worker.contract import codec
from placement_worker.contract.model import Cluster
from placement_worker.handlers.request_warnings import KNOWN_STATUSES


def cluster_of(*statuses):
    """Return a cluster whose nodes have some statuses."""
    nodes = [{'id': f'n{i}', 'status': status} for i, status in enumerate(statuses)]
    profile = {'type': 'os.nova.server-1.0'}
    return codec.decode({'id': 'c1', 'profile': profile, 'nodes': nodes}, Cluster)


def test_describe_unknown_of_known_statuses_returns_none():
    """Statuses of Senlin, and nodes without a status, are no mistakes."""
    assert node_statuses.describe_unknown(cluster_of(*KNOWN_STATUSES, '')) is None


def test_describe_unknown_leaves_misspelled_unhealthy_statuses_to_the_worker():
    """A user reads one sentence about a status, not a note and a warning."""
    assert node_statuses.describe_unknown(cluster_of('EROR', 'warning')) is None


@pytest.mark.parametrize(
    ('statuses', 'named'),
    [
        (['BROKEN'], 'Unknown status of nodes: BROKEN; only'),
        (['ERROR', 'ACTIV', 'ACTIV'], 'Unknown status of nodes: ACTIV (did you mean ACTIVE?); '),
        (['BROKEN', 'DEAD'], 'Unknown status of nodes: BROKEN, DEAD; '),
    ],
)
def test_describe_unknown_status_names_each_once_with_the_probable_one(statuses, named):
    """A user sees which status is unknown, and which one was probably meant."""
    text = node_statuses.describe_unknown(cluster_of(*statuses))

    assert text.startswith(named)
    assert text.endswith('the statuses of Senlin are ' + ', '.join(KNOWN_STATUSES))
