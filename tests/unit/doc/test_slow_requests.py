"""The rule for the slow topic, on the page for other languages and in its program."""

import ast
import re
from pathlib import Path

from placement_worker.contract.rpc import SLOW_CHECKS

ROOT = Path(__file__).parents[3]
PAGE = ROOT / 'doc' / 'source' / 'other-languages.rst'
PROGRAM = ROOT / 'placement_worker' / 'examples' / 'engine-client' / 'pika_client.py'


def slow(phase):
    """Return the actions whose checks of a phase go to the slow topic."""
    return {action for target, action in SLOW_CHECKS if target == phase}


def test_page_lists_the_actions_of_the_slow_topic():
    """The table has the actions of each phase that the client sends to the slow topic."""
    page = PAGE.read_text(encoding='utf-8')
    table = page.partition('Topics and timeouts\n')[2].partition('The slow topic needs')[0]
    before, after = re.split(r'policy_check`` AFTER', table)

    assert set(re.findall(r'(?:CLUSTER|NODE)_\w+', before)) == slow('BEFORE')
    assert set(re.findall(r'(?:CLUSTER|NODE)_\w+', after)) == slow('AFTER')


def test_program_lists_the_actions_of_the_slow_topic():
    """The program of the page has the same actions."""
    sets = {
        node.targets[0].id: set(re.findall(r'(?:CLUSTER|NODE)_\w+', ast.unparse(node.value)))
        for node in ast.parse(PROGRAM.read_text(encoding='utf-8')).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }

    assert (sets['SLOW_BEFORE'], sets['SLOW_AFTER']) == (slow('BEFORE'), slow('AFTER'))
