"""The tables of the manual's page about the contract, against the code."""

import ast
import re
import sys
from pathlib import Path

import pytest

from placement_worker import errors
from placement_worker.contract import inputs
from tests.unit.doc import key_recorder

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / 'doc' / 'source' / 'contract.rst').read_text(encoding='utf-8')
# Keys that policies look up on the way to the keys inside.
PARENTS = {'creation', 'deletion', 'placement'}
# Maps of which a policy only reads whether they are present -> the row that says so.
WHOLE = {'hooks': 'hooks.type'}


@pytest.fixture(scope='module')
def field_lists():
    """Return the module of the manual that reads the content of directives."""
    folder = str(ROOT / 'doc' / 'ext')
    sys.path.insert(0, folder)
    try:
        import field_lists  # noqa: PLC0415  # an extension of Sphinx is no package
    finally:
        sys.path.remove(folder)
    return field_lists


@pytest.fixture(scope='module')
def table(field_lists):
    """Return a function that returns the only table of a directive: key -> cells."""

    def read(directive):
        ((_, lines),) = field_lists.of_directives(PAGE, directive)
        return field_lists.columns(lines)

    return read


@pytest.fixture(scope='module')
def errors_in_tables(field_lists):
    """Return the classes in each table of errors."""
    return [
        set(field_lists.descriptions(lines))
        for _, lines in field_lists.of_directives(PAGE, 'error-table')
    ]


@pytest.fixture(scope='module')
def recorded():
    """Return the keys that each policy uses in each phase."""
    return key_recorder.recorded()


def policies_in(cell):
    """Return the policies that a cell names, without the engine and policies of others."""
    return {name for name in cell.split(', ') if name in key_recorder.POLICIES}


def users(recorded, part, key):
    """Return the policies that use a key."""
    return {policy for (policy, _, _), keys in recorded.items() if key in getattr(keys, part)}


def test_table_of_inputs_has_each_known_key(table):
    """The manual describes each key of `inputs`, and no other."""
    known = {key for keys in inputs.KEYS_BY_ACTION.values() for key in keys or ()}

    assert set(table('input-table')) == known | set(inputs.COMMON_KEYS)


def test_table_of_inputs_names_the_policies_that_read_a_key(table, recorded):
    """The column of readers agrees with the keys that policies look up."""
    rows = table('input-table')
    named = {key: policies_in(readers) for key, (_, readers, _) in rows.items()}

    assert named == {key: users(recorded, 'inputs', key) for key in rows}
    assert all(named[key] or rows[key][1] == 'engine' for key in rows)


def test_table_of_data_names_the_policies_that_read_and_write_a_key(table, recorded):
    """The columns of writers and readers agree with what policies write and look up."""
    rows = table('data-table')
    read = {whole: key for key, whole in WHOLE.items()}

    assert {key: policies_in(cells[1]) for key, cells in rows.items()} == {
        key: users(recorded, 'written', key) for key in rows
    }
    assert {key: policies_in(cells[2]) for key, cells in rows.items()} == {
        key: users(recorded, 'data', read.get(key, key)) for key in rows
    }


def test_table_of_data_has_each_key_that_policies_use(table, recorded):
    """No policy reads or writes a key that the manual does not describe."""
    used = {key for keys in recorded.values() for key in keys.data | keys.written}

    assert {WHOLE.get(key, key) for key in used - PARENTS} <= set(table('data-table'))


def test_table_of_phases_lists_the_keys_that_policies_use(table, recorded):
    """Each phase of an action lists exactly the keys that its policies read and write."""
    used = {}
    for (_, action, phase), keys in recorded.items():
        cells = used.setdefault(f'{action} {phase}', [set(), set(), set()])
        for cell, found in zip(cells, keys, strict=True):
            cell.update(found - PARENTS)

    listed = {
        name: [set(cell.split(', ')) - {'-'} for cell in cells]
        for name, cells in table('phase-table').items()
    }
    assert listed == used


def test_table_of_actions_names_the_policies_that_decide():
    """The table of actions agrees with the phases that policy types handle."""
    shown = {}
    for action, *phases in re.findall(r'\* - ([A-Z_]+)\n +-(.*)\n +-(.*)\n', PAGE):
        for phase, cell in zip(('BEFORE', 'AFTER'), phases, strict=True):
            if cell:
                shown[action, phase] = cell.strip().split(', ')

    assert shown == key_recorder.deciding()


def test_tables_of_errors_have_every_class(errors_in_tables):
    """The manual has a remedy for each error of the package, exactly once."""
    classes = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.PlacementWorkerError)
    }
    listed = [name for names in errors_in_tables for name in names]

    assert sorted(listed) == sorted(classes - {'PlacementWorkerError', 'Refused', 'Rejected'})


def test_tables_of_errors_sort_the_classes_by_what_a_caller_sees(errors_in_tables):
    """Refused requests, missing replies and reasons of replies have a table each."""
    refused, without_reply, reasons, _ = errors_in_tables

    assert {
        name for name in refused if issubclass(getattr(errors, name), errors.Refused)
    } == refused
    assert {
        name for name in reasons if issubclass(getattr(errors, name), errors.Rejected)
    } == reasons
    assert not any(
        issubclass(getattr(errors, name), errors.Refused | errors.Rejected)
        for name in without_reply
    )


@pytest.mark.parametrize(
    'path', sorted((ROOT / 'placement_worker' / 'client').glob('*.py')), ids=lambda path: path.stem
)
def test_errors_that_the_client_raises_are_in_a_table_for_callers(path, errors_in_tables):
    """Each error that the code of the client names is in one of the tables for callers."""
    refused, without_reply, *_ = errors_in_tables
    names = {
        getattr(node, 'attr', getattr(node, 'id', None))
        for raised in ast.walk(ast.parse(path.read_text(encoding='utf-8')))
        if isinstance(raised, ast.Raise | ast.Return)
        for node in ast.walk(raised)
        if isinstance(node, ast.Attribute | ast.Name)
    }

    raised = {
        name
        for name in names
        if isinstance(getattr(errors, name or '', None), type) and name != 'PlacementWorkerError'
    }
    assert raised <= without_reply | refused
