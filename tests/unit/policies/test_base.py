"""The plugin interface, against the page of the manual for authors of plugins."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract.action_data import ActionData
from placement_worker.contract.inputs import KEYS_BY_ACTION
from placement_worker.contract.model import Action, CheckRequest, NodePatch
from placement_worker.planning.victims import Members
from placement_worker.policies.base import BEFORE, Outcome, Policy, State, on
from tests.factories import NOW, node, request

PAGE = Path(__file__).parents[3] / 'doc' / 'source' / 'writing-a-policy.rst'
LITERALS = [
    ' '.join(literal.split())
    for literal in re.findall(
        r'``([^`]+)``', PAGE.read_text(encoding='utf-8').partition('What is stable\n')[0]
    )
]
NAMES = {word for literal in LITERALS for word in re.findall(r'\w+', literal)}


def public(kind):
    return {name for name in {**vars(kind), **kind.__annotations__} if not name.startswith('_')}


@pytest.mark.parametrize(
    'kind', [Policy, State, Outcome, ActionData], ids=lambda kind: kind.__name__
)
def test_page_for_authors_describes_each_name_of_the_interface(kind):
    """An author of a plugin finds each attribute and method of the interface in the manual."""
    positional = {'outcome'}

    assert public(kind) - NAMES - positional == set()


def test_page_for_authors_describes_each_typed_input():
    """An author finds the typed inputs of actions, and each of their keys."""
    typed = {name for name in vars(Action) if name.endswith('_inputs')}
    keys = {
        key
        for name in typed
        for key in vars(Action)[name].func.__annotations__['return'].__struct_fields__
    }

    assert len(typed) == 4
    assert typed | keys <= NAMES


def test_page_for_authors_names_lookups_that_exist():
    """Each lookup that the page lists for the cloud exists, and each attribute of the members."""
    text = ' '.join(PAGE.read_text(encoding='utf-8').split())
    cloud = text.split('``cloud`` The cloud.')[1].split('The types are in')[0]
    named = re.findall(r'``(\w+)[^`]*``', cloud)
    of_objects = {'octavia_settings', 'physical_id'}

    assert len(named) > 10
    assert set(named) - of_objects <= public(Snapshot)
    members = text.split('``members`` The nodes')[1].split('``places`` The regions')[0]
    assert set(re.findall(r'``([a-z]+)``', members)) <= public(Members)


def test_page_for_authors_names_objects_that_can_be_imported():
    """Each dotted name of the package on the page can be imported."""
    dotted = [literal for literal in LITERALS if re.fullmatch(r'placement_worker(\.\w+)+', literal)]

    assert len(dotted) > 5
    for name in dotted:
        if name == 'placement_worker.policies':  # the group of entry points
            continue
        module, _, last = name.rpartition('.')
        if last[0].isupper():
            assert hasattr(importlib.import_module(module), last), name
        else:
            importlib.import_module(name)


def test_page_for_authors_lists_each_action():
    """The section on targets lists exactly the actions that a target may name."""
    section = PAGE.read_text(encoding='utf-8').split('\nTargets\n---')[1]
    items = section.partition('\n* ')[2].partition('\nA policy ')[0]
    listed = re.findall(r'``(\w+)``', items)

    assert sorted(listed) == sorted(KEYS_BY_ACTION)


def test_examples_of_the_page_for_authors_work():
    """The tests that the page shows pass."""
    folder = Path(__file__).parents[3] / 'placement_worker' / 'examples' / 'policy-plugin'

    command = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '.']
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_protected_has_the_nodes_of_cluster_action_and_patches():
    """A node is protected by its entry in the cluster, the action's node, or the latest patch."""
    members = [node(1, metadata={'protected': 'true'}), *map(node, (2, 3, 4))]
    members.append(node(5, data={'protected': True}))
    newer = node(2, data={'protected': True})
    asked = msgspec.convert(request('NODE_DELETE', [], members, node=newer), CheckRequest)
    patches = {'n3': NodePatch({'protected': True}), 'n5': NodePatch({})}
    state = State({}, None, 10, NOW, nodes=patches, members=Members(asked.cluster.nodes))

    assert list(state.protected(asked)) == ['n1', 'n2', 'n3']


def test_targets_of_a_list_of_actions_are_refused_with_the_remedy():
    """The error says how to pass several actions."""
    with pytest.raises(TypeError, match=r"argument of its own, got \['CLUSTER_SCALE_OUT'\]"):
        on(BEFORE, ['CLUSTER_SCALE_OUT'])
