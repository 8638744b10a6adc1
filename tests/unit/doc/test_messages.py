"""Messages that the manual quotes, in tables of messages and as lines of the log."""

import ast
import itertools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / 'doc' / 'source'
TABLE = re.compile(r'^\.\. list-table::\n((?:\n|   .*\n)+)', re.MULTILINE)
FIRST_CELL = re.compile(r'^   \* - (.+?)\n     - ', re.MULTILINE | re.DOTALL)
HEADS = ('message', 'reason')
LITERAL = re.compile(r'``(.+?)``', re.DOTALL)
INTRODUCTION = re.compile(
    r'\b(?:it|and|worker) logs\b|(?<!decision )\blog\b.*\b(?:has|report)\b|\bERROR\b.*::$',
    re.DOTALL,
)
VALUE = '\0'
CONVERSION = re.compile(r'%(?:\.\d+)?[sdrafg]')
# The fewest characters, values aside, by which a text of the code identifies a line.
WORDS_MIN = 15


def cells(page):
    """Yield the first cells of the tables of messages of a page."""
    for table in TABLE.findall(page):
        head, *first = FIRST_CELL.findall(table)
        if head in HEADS:
            yield from first


def log_lines(page):
    """Yield the lines of the literal blocks that follow a sentence about the log or an error."""
    paragraphs = page.split('\n\n')
    for introduction, block in itertools.pairwise(paragraphs):
        if introduction.endswith('::') and INTRODUCTION.search(introduction):
            yield from (line.strip() for line in block.splitlines())


def quoted():
    """Yield the name of a page and each message that it quotes."""
    for file in sorted(SOURCE.rglob('*.rst')):
        page = file.read_text(encoding='utf-8')
        for message in [*LITERAL.findall('\n'.join(cells(page))), *log_lines(page)]:
            yield file.name, ' '.join(message.split())


QUOTED = list(quoted())


def text_of(node):
    """Return the text of a string in the code, with a mark for each value."""
    match node:
        case ast.JoinedStr():
            return ''.join(
                part.value if isinstance(part, ast.Constant) else VALUE for part in node.values
            )
        case ast.Constant(value=str(text)):
            return CONVERSION.sub(VALUE, text)
    return ''


def strings(tree):
    """Yield the strings of a module, without its docstrings."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) not in docstrings and (text := text_of(node)):
            yield text


@pytest.fixture(scope='module')
def texts():
    """Return the texts of the package, with a mark for each value."""
    return {
        text
        for file in (ROOT / 'placement_worker').rglob('*.py')
        for text in strings(ast.parse(file.read_text(encoding='utf-8')))
    }


@pytest.fixture(scope='module')
def patterns(texts):
    """Return a pattern per text of the package that matches it with any values."""
    words = [text for text in texts if len(text.replace(VALUE, '')) >= WORDS_MIN]
    return [re.compile(re.escape(text).replace(VALUE, '.*')) for text in words]


def is_written_with_dots(message, texts):
    """Return whether a message is a text of the code with any text in place of the dots.

    The code may add a cause after a colon.
    """
    pattern = re.escape(message.removesuffix(': ...')).replace(r'\.\.\.', '.*')
    return any(re.fullmatch(f'{pattern}(: .*)?', text, re.DOTALL) for text in texts)


@pytest.mark.parametrize(('page', 'message'), QUOTED, ids=[message for _, message in QUOTED])
def test_message_of_the_manual_exists_in_the_code(texts, patterns, page, message):
    """Each quoted message is one of the code, with dots or with values."""
    assert is_written_with_dots(message, texts) or any(
        pattern.fullmatch(message) for pattern in patterns
    ), page


def test_messages_of_the_manual_are_found():
    """The search finds the rows of each table of messages, and lines of the log."""
    found = [page for page, _ in QUOTED]

    assert found.count('runbook.rst') > 30
    assert {'openstack.rst', 'delivery.rst', 'health.rst'} <= set(found)
