"""The tables of the manual's page about the contract, against the code."""

import ast
import re
import runpy
from pathlib import Path

import pytest

from placement_worker import errors
from placement_worker.contract import inputs
from tests.unit.doc import key_recorder

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / 'doc' / 'source' / 'contract-reference.rst').read_text(encoding='utf-8')
# The length of the page that an author of an engine reads once.
MAX_LINES = 250
# Keys that policies look up on the way to the keys inside.
PARENTS = {'creation', 'deletion', 'placement'}
# Maps of which a policy only reads whether they are present -> the row that says so.
WHOLE = {'hooks': 'hooks.type'}


@pytest.fixture(scope='module')
def texts():
    """Return the texts of the generated reference."""
    return runpy.run_path(str(ROOT / 'doc' / 'ext' / 'contract_texts.py'))['TEXTS']


@pytest.fixture(scope='module')
def errors_in_tables(texts):
    """Return the classes in each table of errors: group -> names."""
    return {group: set(classes) for group, classes in texts['errors'].items()}


@pytest.fixture(scope='module')
def recorded():
    return key_recorder.recorded()


def policies_in(cell):
    """Return the policies that a cell names, without the engine and policies of others."""
    return {name for name in cell.split(', ') if name in key_recorder.POLICIES}


def users(recorded, part, key):
    return {policy for (policy, _, _), keys in recorded.items() if key in getattr(keys, part)}


def test_table_of_inputs_has_each_known_key(texts):
    """The manual describes each key of `inputs`, and no other."""
    known = {key for keys in inputs.KEYS_BY_ACTION.values() for key in keys or ()}

    assert set(texts['inputs']) == known | set(inputs.COMMON_KEYS)


def test_table_of_inputs_names_the_policies_that_read_a_key(texts, recorded):
    """The column of readers agrees with the keys that policies look up."""
    rows = texts['inputs']
    named = {key: policies_in(row['read_by']) for key, row in rows.items()}

    assert named == {key: users(recorded, 'inputs', key) for key in rows}
    assert all(named[key] or rows[key]['read_by'] == 'engine' for key in rows)


def test_table_of_data_names_the_policies_that_read_and_write_a_key(texts, recorded):
    """The columns of writers and readers agree with what policies write and look up."""
    rows = texts['data']
    read = {whole: key for key, whole in WHOLE.items()}

    assert {key: policies_in(row['written_by']) for key, row in rows.items()} == {
        key: users(recorded, 'written', key) for key in rows
    }
    assert {key: policies_in(row['read_by']) for key, row in rows.items()} == {
        key: users(recorded, 'data', read.get(key, key)) for key in rows
    }


def test_table_of_data_has_each_key_that_policies_use(texts, recorded):
    """No policy reads or writes a key that the manual does not describe."""
    used = {key for keys in recorded.values() for key in keys.data | keys.written}

    assert {WHOLE.get(key, key) for key in used - PARENTS} <= set(texts['data'])


def test_page_that_an_author_reads_once_is_short():
    """The page fits into one sitting; the reference has the rest."""
    page = ROOT / 'doc' / 'source' / 'contract.rst'

    assert len(page.read_text(encoding='utf-8').splitlines()) <= MAX_LINES


def test_reference_shows_each_group_of_texts(texts):
    """Each group of errors and objects has its directive, exactly once."""
    shown = re.findall(r'contract-(?:errors|objects):: (\w+)', PAGE)

    assert sorted(shown) == sorted([*texts['errors'], 'requests', 'replies', 'others'])


def test_tables_of_errors_have_every_class(errors_in_tables):
    """The manual has a remedy for each error of the package, exactly once."""
    classes = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.PlacementWorkerError)
    }
    listed = [name for names in errors_in_tables.values() for name in names]

    assert sorted(listed) == sorted(classes - {'PlacementWorkerError', 'Refused', 'Rejected'})


def test_tables_of_errors_sort_the_classes_by_what_a_caller_sees(errors_in_tables):
    """Refused requests, missing replies and reasons of replies have a table each."""
    bases = {'refused': errors.Refused, 'reasons': errors.Rejected}

    for group, names in errors_in_tables.items():
        for name in names:
            kind = getattr(errors, name)
            assert {base for base in bases.values() if issubclass(kind, base)} == (
                {bases[group]} if group in bases else set()
            )


@pytest.mark.parametrize(
    'path', sorted((ROOT / 'placement_worker' / 'client').glob('*.py')), ids=lambda path: path.stem
)
def test_errors_that_the_client_raises_are_in_a_table_for_callers(path, errors_in_tables):
    """Each error that the code of the client names is in one of the tables for callers."""
    for_callers = {
        name for group in ('refused', 'client', 'worker') for name in errors_in_tables[group]
    }
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
    assert raised <= for_callers
