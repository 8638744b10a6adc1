"""Messages that the manual quotes."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / 'doc' / 'source' / 'messages.rst'
ROW = re.compile(r'^   \* - ``(.+?)``$', re.MULTILINE | re.DOTALL)
VALUE = '\0'
CONVERSION = re.compile(r'%(?:\.\d+)?[sdrafg]')


def quoted():
    return [' '.join(message.split()) for message in ROW.findall(PAGE.read_text(encoding='utf-8'))]


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


@pytest.fixture(scope='module')
def texts():
    return [
        text_of(node)
        for file in sorted((ROOT / 'placement_worker').rglob('*.py'))
        for node in ast.walk(ast.parse(file.read_text(encoding='utf-8')))
    ]


@pytest.mark.parametrize('message', quoted())
def test_message_of_the_manual_exists_in_the_code(texts, message):
    """Each quoted message is a message of the code, with any text in place of the dots."""
    pattern = re.escape(message).replace(r'\.\.\.', '.*')

    assert any(re.fullmatch(pattern, text, re.DOTALL) for text in texts), message


def test_messages_of_the_manual_are_found():
    """The search finds the rows of each table of the page."""
    assert len(quoted()) == PAGE.read_text(encoding='utf-8').count('\n   * - ``')
    assert len(quoted()) > PAGE.read_text(encoding='utf-8').count('list-table')
