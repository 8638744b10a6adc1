"""The numbers of a plan that cannot be made."""

import pytest

from placement_worker.errors import NoFeasiblePlan
from placement_worker.planning.placement import grow, shrink
from placement_worker.planning.places import Place


def details(plan, *arguments):
    """Return the details of the error of a plan."""
    with pytest.raises(NoFeasiblePlan) as raised:
        plan(*arguments)
    return raised.value.details


def test_infeasible_creation_names_the_room_of_each_place():
    """The error has the asked, possible and missing nodes, and each place with its obstacle."""
    places = [
        Place('a', cap=3),
        Place('b', available=False),
        Place('c', known=False, available=False),
    ]

    found = details(grow, places, {'a': 1, 'b': 2}, 5)

    assert found == {
        'asked': 5,
        'possible': 2,
        'missing': 3,
        'places': [
            {'name': 'a', 'current': 1, 'cap': 3, 'possible': 2, 'note': ''},
            {'name': 'b', 'current': 2, 'cap': -1, 'possible': 0, 'note': 'unavailable'},
            {'name': 'c', 'current': 0, 'cap': -1, 'possible': 0, 'note': 'unknown to the cloud'},
        ],
    }


def test_infeasible_deletion_warns_of_the_numbers():
    """The warning has the number of nodes to remove, and the number that there are."""
    with pytest.raises(NoFeasiblePlan) as raised:
        shrink([Place('a')], [{'a': 1, None: 2}], 4)

    assert raised.value.warnings == [
        'The action asks to remove 4 nodes, but the placement policy finds 3'
    ]


def test_infeasible_deletion_names_the_nodes_of_each_place():
    """The error has a row per place with nodes, also for nodes of no known place."""
    found = details(shrink, [Place('a')], [{'a': 1, None: 2}, {'b': 0}], 4)

    assert {key: found[key] for key in ('asked', 'possible', 'missing')} == {
        'asked': 4,
        'possible': 3,
        'missing': 1,
    }
    assert {row['name']: row['possible'] for row in found['places']} == {
        'a': 1,
        '(no known place)': 2,
    }
