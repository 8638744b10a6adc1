"""The files, names and commands in CONTRIBUTING.rst and in the page on the architecture exist."""

import configparser
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / 'placement_worker'
CONTRIBUTING = ROOT / 'CONTRIBUTING.rst'
ARCHITECTURE = ROOT / 'doc' / 'source' / 'architecture.rst'
PAGES = [CONTRIBUTING, ARCHITECTURE]
WRITTEN_BY_TOOLS = ('doc/build', '.services-venv', '.venv')
BELOW = ('.venv/', 'doc/build/', 'releasenotes/build/')
FILE = re.compile(r'[\w.-]+(/[\w.-]+)+/?|[\w-]+\.(cfg|ini|md|py|rst|toml|yaml)')
IDENTIFIER = re.compile(r'[A-Za-z]*_\w+|[A-Z]\w*[A-Z]\w*')


def literals(text):
    """Return the literals of a text, each on one line."""
    return [' '.join(literal.split()) for literal in re.findall(r'``(.+?)``', text, re.DOTALL)]


def all_literals():
    return ' '.join(literal for page in PAGES for literal in literals(page.read_text('utf-8')))


def files(text):
    """Return the literals that name files, and words of commands that do."""
    return [word for literal in literals(text) for word in literal.split() if FILE.fullmatch(word)]


def found(name):
    """Return the files and folders that a name stands for.

    `NAME` stands for any name. A file without a folder is in one that the page names.
    """
    pattern = name.rstrip('/').replace('NAME', '*')
    if pattern in WRITTEN_BY_TOOLS or name.startswith(BELOW):
        return [ROOT]
    if '/' in pattern:
        return [path for folder in (ROOT, PACKAGE) for path in folder.glob(pattern)]
    beside = [path for folder in (PACKAGE, ROOT / 'tests') for path in folder.rglob(pattern)]
    return [*ROOT.glob(pattern), *beside]


def recipes():
    """Return the recipes of CONTRIBUTING.rst: heading -> text."""
    text = CONTRIBUTING.read_text(encoding='utf-8').split('\nRecipes\n=======\n')[1]
    parts = re.split(r'^(\w.*)\n-{3,}\n', text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def content(path):
    """Return the text of a file, or of all Python files in a folder."""
    paths = path.rglob('*.py') if path.is_dir() else [path]
    return '\n'.join(one.read_text(encoding='utf-8') for one in paths)


@pytest.mark.parametrize('page', [*PAGES, ROOT / 'README.rst'], ids=lambda page: page.name)
def test_page_names_existing_files(page):
    """A reader finds each file and folder that the page names."""
    named = files(page.read_text(encoding='utf-8'))

    assert len(named) >= 10
    assert [name for name in named if not found(name)] == []


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_page_names_existing_modules(page):
    """A reader finds each module, class and function that the page names by a dotted name."""
    packages = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    named = [
        literal.split('.')
        for literal in literals(page.read_text(encoding='utf-8'))
        if literal.partition('.')[0] in packages and re.fullmatch(r'[a-zA-Z_.]+', literal)
    ]

    missing = []
    for parts in named:
        of_module = [part for part in parts if part.islower()]
        path = PACKAGE.joinpath(*of_module)
        source = path if path.is_dir() else path.with_suffix('.py')
        rest = parts[len(of_module) :]
        if not source.exists() or any(f'class {name}' not in content(source) for name in rest):
            missing.append('.'.join(parts))
    assert missing == []


@pytest.mark.parametrize('recipe', recipes().items(), ids=lambda recipe: recipe[0])
def test_recipe_names_what_its_files_define(recipe):
    """Each function, table and fixture that a recipe names is in a file that the recipe names."""
    _, text = recipe
    sources = '\n'.join(content(path) for name in files(text) for path in found(name))
    named = [literal for literal in literals(text) if IDENTIFIER.fullmatch(literal)]

    assert [name for name in named if name not in sources] == []


def test_place_of_a_change_defines_the_named_function():
    """Each function or class in the table of changes is in a file of the same row."""
    section = ARCHITECTURE.read_text('utf-8').split('\nWhere do I change what?\n')[1]
    named = [
        (row, literal)
        for row in section.split('\nFailures\n')[0].split('\n   * - ')
        for literal in literals(row)
        if re.fullmatch(r'\w+', literal) and not found(literal)
    ]

    assert len(named) > 1
    for row, name in named:
        assert any(name in content(path) for file in files(row) for path in found(file)), row


def test_import_linter_contract_of_a_recipe_exists():
    """A recipe names an import-linter contract by the name that it has."""
    project = tomllib.loads((ROOT / 'pyproject.toml').read_text('utf-8'))
    known = {one['name'] for one in project['tool']['importlinter']['contracts']}
    named = re.findall(r'import-linter contract\s+"([^"]+)"', CONTRIBUTING.read_text('utf-8'))

    assert named
    assert {' '.join(name.split()) for name in named} <= known


def test_tox_environments_of_the_pages_exist():
    """A reader can run each tox environment that a page names."""
    tox = configparser.ConfigParser()
    tox.read(ROOT / 'tox.ini')
    named = {*','.join(re.findall(r'tox -e ([\w.,-]+)', all_literals())).split(',')}

    assert len(named) > 5
    assert [name for name in named if f'testenv:{name}' not in tox] == []


def test_commands_of_the_pages_exist():
    """A reader can run each command of placement-policy that a page names."""
    entry_points = metadata.distribution('placement-worker').entry_points
    commands = entry_points.select(group='placement_worker.cli').names
    named = re.findall(r'placement-policy ([a-z]+)(?: ([a-z]+))?', all_literals())

    assert named
    assert [words for words in named if not {words[0], '_'.join(words)} & commands] == []


def test_bindep_names_the_packages_that_the_test_command_installs():
    """A new machine gets the same packages from `tools/test` and from bindep."""
    needs = re.findall(r'needs\+?=\((.+)\)', (ROOT / 'tools' / 'test').read_text())
    installed = {
        word for line in needs for need in re.findall("'(.+?)'", line) for word in need.split()[1:]
    }
    bindep = (ROOT / 'bindep.txt').read_text()

    assert {'rabbitmq-server', 'haproxy'} < installed
    listed = set(re.findall(r'^(\S+) \[.*\btest\b', bindep, re.MULTILINE))
    assert installed == listed - {'git', 'systemd'}
