"""The imports of the package, against the diagram of the manual."""

import ast
import re
from pathlib import Path

import pytest

from placement_worker.config import options

ROOT = Path(__file__).parents[2]
DIAGRAM = ROOT / 'doc/source/diagrams/packages.dot'
SHARED = {'contract', 'errors', 'formats'}


def package_of(module):
    """Return the package that a dotted module name belongs to, as the diagram names it."""
    parts = module.split('.')[1:]
    if parts[:1] == ['cloud'] and {*parts[1:2]} & {'embedded', 'intercepted', 'openstack'}:
        return f'cloud_{parts[1]}'
    return parts[0] if parts else ''


def imported(tree):
    """Yield the dotted names that a module imports, anywhere in its text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (f'{node.module}.{alias.name}' for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def imports():
    """Return the imports between packages: pairs of importer and imported."""
    pairs = set()
    for path in (ROOT / 'placement_worker').rglob('*.py'):
        if 'examples' in path.parts:  # files to copy
            continue
        importer = package_of('.'.join(path.relative_to(ROOT).with_suffix('').parts))
        for name in imported(ast.parse(path.read_text(encoding='utf-8'))):
            if name.startswith('placement_worker.'):
                pairs.add((importer, package_of(name)))
    return {(one, other) for one, other in pairs if one != other and not one.startswith('__')}


def drawn():
    arrow = re.compile(r'^ *(\w+) -> (\w+)(?: \[.*\])?;$', re.MULTILINE)
    return set(arrow.findall(DIAGRAM.read_text(encoding='utf-8')))


def closure(pairs):
    """Return the pairs that a path of the given pairs connects."""
    reached = set(pairs)
    while more := {(a, d) for a, b in reached for c, d in pairs if b == c} - reached:
        reached |= more
    return reached


def test_diagram_of_packages_shows_imports_alone():
    """Each arrow of the diagram stands for an import."""
    assert drawn() <= imports()


def test_diagram_of_packages_implies_each_import():
    """A path of arrows in the diagram leads from each package to every package that it imports."""
    others = {pair for pair in imports() if SHARED.isdisjoint(pair)}

    assert others <= closure(drawn())


@pytest.mark.parametrize(
    'policy', ['zone_placement', 'region_placement', 'deletion', 'load_balancing/policy']
)
def test_no_policy_imports_another(policy):
    """A policy reads the decisions of others from the state; the places are resolved for all."""
    path = ROOT / f'placement_worker/policies/{policy}.py'
    modules = {'zone_placement', 'region_placement', 'deletion', 'load_balancing'}

    found = imported(ast.parse(path.read_text(encoding='utf-8')))

    others = modules - {policy.partition('/')[0]}
    assert [name for name in found if not others.isdisjoint(name.split('.'))] == []


def test_only_worker_cmd_and_engines_read_options_of_the_package():
    """Other packages take values, so that an option has one reader and tests need no file."""
    package = ROOT / 'placement_worker'
    readers = {'config', 'worker', 'cmd', 'engines'}
    reads = []
    for path in package.rglob('*.py'):
        module = path.relative_to(package)
        if module.parts[0] in readers:
            continue
        tree = ast.parse(path.read_text(encoding='utf-8'))
        reads += [
            f'{module} imports {name}'
            for name in imported(tree)
            if name.startswith('placement_worker.config')
        ]
        reads += [
            f'{module}:{node.lineno}'
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and node.attr in {*options.GROUPS, options.SERVICE_AUTH}
            and re.fullmatch(r'(.+\.)?_?conf(ig)?', ast.unparse(node.value), re.IGNORECASE)
        ]

    assert reads == []


def test_docstring_of_a_package_names_its_modules_and_which_to_read_first():
    """A reader who opens a package learns where to begin, and finds each module that it names."""
    package = ROOT / 'placement_worker'
    for path in package.rglob('*/__init__.py'):
        modules = {file.stem for file in path.parent.glob('*.py')} - {'__init__'}
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding='utf-8')))
        if len(modules) > 1:
            assert re.search(r'Read\s`[\w.]+`\sfirst|read it first', docstring), path
        names = set(re.findall(r'`([a-z_.]+)`', docstring))
        for name in names - {'create_exporter', 'plugin_dirs'}:
            places = [folder / name.replace('.', '/') for folder in (path.parent, package)]
            assert any(at.is_dir() or at.with_suffix('.py').exists() for at in places), (path, name)
