"""The pages on tasks: their parts, their programs, and the errors that they quote."""

import re
from pathlib import Path

import pytest

from tests.unit.doc.test_messages import texts  # noqa: F401  # a fixture

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / 'doc' / 'source' / 'how-to'
PROGRAMS = ROOT / 'placement_worker' / 'examples' / 'how-to'
TASKS = sorted(set(FOLDER.glob('*.rst')) - {FOLDER / 'index.rst', FOLDER / 'checklist.rst'})
FILES = [
    file
    for pattern in ('*.*', '*/*.*')  # pip writes deeper folders when it installs an example
    for file in sorted(PROGRAMS.glob(pattern))
    if file.is_file() and file.suffix != '.pyc' and file.name != 'pytest.ini'
]
# The length of a program that a reader takes in at once, without blank lines.
MAX_LINES = 48
ERROR = re.compile(r'^``(.+)``$', re.MULTILINE)


def sections(page):
    """Return the sections of a page: heading -> text."""
    parts = re.split(r'^(.+)\n={3,}\n', page.read_text(encoding='utf-8'), flags=re.MULTILINE)[3:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def quoted():
    return [
        (page.stem, error)
        for page in TASKS
        for error in ERROR.findall(sections(page)['Possible errors'])
    ]


@pytest.mark.parametrize('page', TASKS, ids=lambda page: page.stem)
def test_task_has_the_parts_of_its_kind_and_a_program(page):
    """Each page on a task names its conditions first, and errors last."""
    first, *steps, errors = sections(page)

    assert (first, errors) == ('Before you start', 'Possible errors')
    assert steps
    assert re.search(r'literalinclude:: .*/examples/how-to/.*\.py\n', page.read_text('utf-8'))


@pytest.mark.parametrize(('page', 'error'), quoted())
def test_error_of_a_task_exists_in_the_code(texts, page, error):  # noqa: F811
    """Each quoted error is a text of the code, with any text in place of the dots."""
    pattern = re.escape(error).replace(r'\.\.\.', '.*')

    assert any(re.fullmatch(pattern, text, re.DOTALL) for text in texts), page


def test_each_file_of_the_examples_is_on_a_page():
    """Each file that belongs to the tasks is named on a page on a task."""
    pages = ''.join(page.read_text(encoding='utf-8') for page in FOLDER.glob('*.rst'))
    names = [str(file.relative_to(PROGRAMS)) for file in FILES]

    assert names
    assert [name for name in names if f'examples/how-to/{name}' not in pages] == []


@pytest.mark.parametrize('program', FILES, ids=lambda file: file.name)
def test_program_of_a_task_is_short(program):
    """A reader takes in a program or a file at once."""
    lines = program.read_text(encoding='utf-8').splitlines()

    assert sum(bool(line) for line in lines) <= MAX_LINES
