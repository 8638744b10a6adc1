"""The size that a CLUSTER_RESIZE leads to, and the errors of sizes that are not allowed."""

import pytest

from placement_worker.contract import codec
from placement_worker.contract.inputs import ResizeInputs
from placement_worker.contract.model import Cluster
from placement_worker.errors import SizeOutOfBounds
from placement_worker.planning import resizing
from tests.factories import nodes, request


def made(held=5, **bounds):
    """Return a cluster, of five nodes by default."""
    return codec.decode(request('CLUSTER_RESIZE', [], nodes(a=held), **bounds)['cluster'], Cluster)


def desired(inputs, cluster=None, max_nodes=1000):
    """Return the desired size of a cluster of five nodes."""
    return resizing.desired_size(ResizeInputs.of(inputs), cluster or made(), max_nodes)


@pytest.mark.parametrize(
    ('adjustment', 'number', 'more', 'change'),
    [
        ('EXACT_CAPACITY', 7, {}, 2),
        ('EXACT_CAPACITY', 5, {}, 0),
        ('CHANGE_IN_CAPACITY', -2, {}, -2),
        ('CHANGE_IN_PERCENTAGE', 50, {}, 2),
        ('CHANGE_IN_PERCENTAGE', -50, {}, -2),
        ('CHANGE_IN_PERCENTAGE', 1, {}, 1),
        ('CHANGE_IN_PERCENTAGE', -1, {}, -1),
        ('CHANGE_IN_PERCENTAGE', 33.3, {}, 1),
        ('CHANGE_IN_PERCENTAGE', 0, {'min_step': 2}, 0),
        ('CHANGE_IN_PERCENTAGE', 20, {'min_step': 3}, 3),
        ('CHANGE_IN_PERCENTAGE', -20, {'min_step': 3}, -3),
        ('CHANGE_IN_PERCENTAGE', 80, {'min_step': 3}, 4),
        ('CHANGE_IN_CAPACITY', 100, {'max_size': 8}, 3),
        ('CHANGE_IN_CAPACITY', 100, {'max_size': -1}, 100),
        ('CHANGE_IN_CAPACITY', 0, {'max_size': 0}, -5),
        ('CHANGE_IN_CAPACITY', -100, {}, -5),
        (None, None, {'min_size': 7, 'strict': None, 'min_step': None}, 2),
        (None, 9, {}, 0),
    ],
)
def test_desired_size_follows_the_adjustment_within_the_bounds(adjustment, number, more, change):
    """Adjustment, number, step and bounds lead to the size that Senlin computes."""
    assert desired({'adjustment_type': adjustment, 'number': number, **more}) == 5 + change


STRICT = {'adjustment_type': 'EXACT_CAPACITY', 'strict': True}
TOO_LARGE = 'is greater than the maximum number of nodes allowed per cluster (1000).'


@pytest.mark.parametrize(
    ('inputs', 'bounds', 'reason'),
    [
        ({**STRICT, 'number': 1001}, {}, f'The target capacity (1001) {TOO_LARGE}'),
        (
            {**STRICT, 'number': 2, 'min_size': 3},
            {},
            'The target capacity (2) is less than the specified min_size (3).',
        ),
        (
            {**STRICT, 'number': 2},
            {'min_size': 3},
            "The target capacity (2) is less than the cluster's min_size (3).",
        ),
        (
            {**STRICT, 'number': 9, 'max_size': 8},
            {},
            'The target capacity (9) is greater than the specified max_size (8).',
        ),
        (
            {**STRICT, 'number': 9},
            {'max_size': 8},
            "The target capacity (9) is greater than the cluster's max_size (8).",
        ),
        (
            {**STRICT, 'number': 5, 'min_size': 4, 'max_size': 3},
            {},
            'The target capacity (5) is greater than the specified max_size (3).',
        ),
        (
            {**STRICT, 'number': 7, 'min_size': 7},
            {'max_size': 6},
            "The target capacity (7) is greater than the cluster's max_size (6).",
        ),
        (
            {'min_size': 7},
            {'max_size': 6},
            'The target capacity (6) is less than the specified min_size (7).',
        ),
        ({'max_size': 2000}, {}, f'The specified max_size (2000) {TOO_LARGE}'),
        (
            {'max_size': 3},
            {'min_size': 4},
            'The specified max_size (3) is less than the current min_size (4) of the cluster.',
        ),
    ],
)
def test_desired_size_out_of_bounds_is_refused_in_senlins_words(inputs, bounds, reason):
    """A size that a bound forbids raises an error with the text of Senlin."""
    with pytest.raises(SizeOutOfBounds) as refused:
        desired(inputs, made(**bounds))

    assert str(refused.value) == reason


@pytest.mark.parametrize(
    ('inputs', 'bounds', 'limit'),
    [
        ({'number': 7}, {}, ''),
        ({'number': 9}, {'max_size': 8}, "limited to 8 in all by the cluster's max_size"),
        ({'number': 9, 'max_size': 8}, {}, "limited to 8 in all by the request's max_size"),
        ({'number': 1, 'min_size': 2}, {}, "limited to 2 in all by the request's min_size"),
    ],
)
def test_limit_names_the_bound_and_its_source(inputs, bounds, limit):
    """The phrase names the bound that changed the size, and whether cluster or request set it."""
    cluster = made(**bounds)
    read = ResizeInputs.of({'adjustment_type': 'EXACT_CAPACITY', **inputs})

    assert resizing.limit_of(read, cluster, resizing.desired_size(read, cluster, 1000)) == limit


def test_total_at_the_maximum_is_allowed():
    """The maximum size itself is allowed; one node more is refused."""
    cluster = made(held=9)
    one, two = (
        ResizeInputs.of({'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': number})
        for number in (1, 2)
    )

    assert resizing.desired_size(one, cluster, 10) == 10
    with pytest.raises(SizeOutOfBounds, match=r'\(11\) .* \(10\)'):
        resizing.desired_size(two, cluster, 10)
