"""The requests and replies that the manual shows."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from placement_worker.cmd import types

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / 'doc' / 'source' / 'exchanges'
PAGE = ROOT / 'doc' / 'source' / 'exchanges.rst'
PHASES = [
    f'{action}-{phase}'
    for action in ('scale-out', 'resize', 'replace', 'recover', 'scale-in')
    for phase in ('before', 'after')
]
# The checks of another cluster, at the end of the page.
OTHERS = ['node-create-before', 'node-create-after', 'add-nodes-after']
OTHERS += ['node-delete-before', 'del-nodes-before']


def test_shown_messages_are_what_the_code_decides(tmp_path):
    """`python tools/exchanges.py` brings the files up to date."""
    subprocess.run([sys.executable, 'tools/exchanges.py', tmp_path], cwd=ROOT, check=True)

    generated = {path.name: path.read_text(encoding='utf-8') for path in tmp_path.iterdir()}
    assert {path.name: path.read_text(encoding='utf-8') for path in FOLDER.iterdir()} == generated


def test_page_shows_each_request_with_its_reply():
    """The page shows each exchange once."""
    shown = re.findall(r'\.\. exchange:: (.*)', PAGE.read_text(encoding='utf-8'))

    assert shown == ['attach', *PHASES, 'rebalance', *OTHERS, 'detach']
    files = [f'{name}.{part}' for name in shown for part in ('request', 'reply')]
    assert sorted(files) == sorted(path.stem for path in FOLDER.iterdir())


@pytest.mark.parametrize('path', sorted(FOLDER.iterdir()), ids=lambda path: path.stem)
def test_shown_message_fits_its_schema(path):
    """Each message that the manual shows fits the JSON Schema of its kind."""
    name, part = path.stem.split('.')
    method = 'policy_check' if name in PHASES + OTHERS else f'policy_{name}'

    Draft202012Validator(json.loads(types.message_schema(f'{method}.{part}'))).validate(
        json.loads(path.read_text(encoding='utf-8'))
    )


@pytest.mark.parametrize('name', PHASES + OTHERS)
def test_shown_check_is_decided_without_an_error(name):
    """The story of the page has no failure and no warning."""
    reply = json.loads((FOLDER / f'{name}.reply.json').read_text(encoding='utf-8'))

    assert (reply['action']['data']['status'], reply['warnings']) == ('OK', [])
