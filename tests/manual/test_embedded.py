"""The manual's commands over the embedded cloud, and that each command of the manual is tried
somewhere.
"""

import itertools
import re
import subprocess
import sys

import pytest

from tests.manual import ways, workspace
from tests.manual.pages import PAGES, ROOT, blocks, unknown

COMMANDS = [
    (page.stem, block.place, command)
    for page in PAGES
    for block in blocks(page)
    for command in block.commands
]
NAMES = [page.stem for page in PAGES]


@pytest.mark.parametrize('page', PAGES, ids=NAMES)
def test_what_looks_like_a_command_is_known(page):
    """A program that is new to the manual has to be named in `pages`, or nobody would try it."""
    assert [(block.place, unknown(block)) for block in blocks(page) if unknown(block)] == []


def test_it_is_said_of_every_command_how_it_is_tried():
    assert len(COMMANDS) > 80
    assert [
        (place, command) for page, place, command in COMMANDS if ways.way(page, command) is None
    ] == []


def test_no_way_is_left_over():
    used = {ways.way(page, command) for page, _, command in COMMANDS}

    assert [way for way in ways.WAYS if way not in used] == []


def test_what_is_not_tried_by_these_tests_has_a_reason():
    silent = [
        way for way in ways.WAYS if way.how in (ways.SYNTAX, ways.ELSEWHERE) and not way.reason
    ]

    assert silent == []
    named = [way.reason.partition(':')[0] for way in ways.WAYS if way.how == ways.ELSEWHERE]
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize('page', PAGES, ids=NAMES)
def test_bash_can_read_every_command(page):
    script = '\n'.join(command for block in blocks(page) for command in block.commands)

    done = subprocess.run(['bash', '-n'], input=script, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, '')


def installing_into(folder, command):
    """The command, with what pip installs in a folder, and not in the environment of the tests."""
    return re.sub(
        r'^pip install ',
        f'{sys.executable} -m pip install --quiet --no-deps --target {folder} ',
        command,
    )


@pytest.mark.parametrize('page', PAGES, ids=NAMES)
def test_the_commands_that_need_no_worker_do_what_the_page_shows(page, tmp_path):
    """Also what they print, where the page shows it; and git ignores what they leave in a clone."""
    found, folder = blocks(page), tmp_path / 'clone'
    workspace.furnish(folder, found)
    git = ['git', '-C', folder]
    subprocess.run([*git, 'init', '--quiet'], check=True)
    subprocess.run([*git, 'add', '--all'], check=True)
    packages = tmp_path / 'packages'
    env = workspace.environment(PYTHONPATH=str(packages))

    for block, following in itertools.zip_longest(found, found[1:]):
        here = [
            command for command in block.commands if ways.way(page.stem, command).how == ways.HERE
        ]
        printed = ''.join(
            workspace.type_in(installing_into(packages, command), folder, env) for command in here
        )
        if here and len(here) == len(block.commands) and following and following.is_output:
            assert workspace.timeless(printed) == workspace.timeless(following.text), (
                following.place
            )
    left = subprocess.run(
        [*git, 'ls-files', '--others', '--exclude-standard'], check=True, stdout=subprocess.PIPE
    )
    assert left.stdout.decode() == ''


def test_writing_a_policy_shows_a_whole_package_and_tries_it():
    """Nobody has to look for the code, where its names come from, how it is announced, and how it
    is bound.
    """
    page = ROOT / 'doc' / 'source' / 'writing-a-policy.rst'

    text = page.read_text()
    for file in (ROOT / 'examples' / 'policy-plugin').glob('*.*'):
        assert f'.. literalinclude:: ../../examples/policy-plugin/{file.name}\n' in text
    assert 'self.properties' in text
    assert any(
        command.startswith('placement-policy check ')
        for block in blocks(page)
        for command in block.commands
    )


LOAD_BALANCED = [page for page in PAGES if 'placement-policy attach ' in page.read_text()]


@pytest.mark.parametrize('page', LOAD_BALANCED, ids=[page.stem for page in LOAD_BALANCED])
def test_load_balancing_can_be_tried_again(page, tmp_path):
    """Ids of an earlier try, which are left in the folder, do not let the later one fail."""
    found = blocks(page)
    workspace.furnish(tmp_path, found)
    commands = [
        command for block in found for command in block.commands if 'load-balanc' in command
    ]

    for command in [*commands, *commands]:
        if ways.way(page.stem, command).how == ways.HERE:
            workspace.type_in(command, tmp_path, workspace.environment())
