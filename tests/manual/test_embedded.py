"""The commands of the manual over the embedded cloud, and the completeness of these tests."""

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
def test_each_program_of_the_manual_is_known(page):
    """A program that is new to the manual must be named in `pages`, or its commands go untested."""
    assert [(block.place, unknown(block)) for block in blocks(page) if unknown(block)] == []


def test_each_command_of_the_manual_has_a_way():
    """Each command of the manual has an entry that says how it is tested."""
    assert len(COMMANDS) > 80
    assert [
        (place, command) for page, place, command in COMMANDS if ways.way(page, command) is None
    ] == []


def test_each_way_is_used():
    """Each entry matches a command of the manual."""
    used = {ways.way(page, command) for page, _, command in COMMANDS}

    assert [way for way in ways.WAYS if way not in used] == []


def test_untested_command_has_a_reason():
    """A command that is not run here has a reason."""
    silent = [
        way for way in ways.WAYS if way.how in (ways.SYNTAX, ways.ELSEWHERE) and not way.reason
    ]

    assert silent == []
    named = [way.reason.partition(':')[0] for way in ways.WAYS if way.how == ways.ELSEWHERE]
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize('page', PAGES, ids=NAMES)
def test_each_command_is_valid_bash(page):
    """Bash parses each command of the manual."""
    script = '\n'.join(command for block in blocks(page) for command in block.commands)

    done = subprocess.run(['bash', '-n'], input=script, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, '')


def installing_into(folder, command):
    """Return the command with a folder as the target of pip instead of this environment."""
    return re.sub(
        r'^pip install ',
        f'{sys.executable} -m pip install --quiet --no-deps --target {folder} ',
        command,
    )


@pytest.mark.parametrize('page', PAGES, ids=NAMES)
def test_commands_without_a_worker_print_the_shown_output(page, tmp_path):
    """Each command prints the shown output, and leaves only files that git ignores."""
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


def test_writing_a_policy_shows_each_file_of_the_example():
    """The page shows each file of the example package."""
    page = ROOT / 'doc' / 'source' / 'writing-a-policy.rst'

    text = page.read_text()
    for file in (ROOT / 'examples' / 'policy-plugin').glob('*.*'):
        assert f'.. literalinclude:: ../../examples/policy-plugin/{file.name}\n' in text
    assert 'self.properties' in text


LOAD_BALANCED = [page for page in PAGES if 'placement-policy attach ' in page.read_text()]


@pytest.mark.parametrize('page', LOAD_BALANCED, ids=[page.stem for page in LOAD_BALANCED])
def test_load_balancing_can_be_tried_again(page, tmp_path):
    """A second run succeeds even though the ids of the first run remain in the folder."""
    found = blocks(page)
    workspace.furnish(tmp_path, found)
    commands = [
        command for block in found for command in block.commands if 'load-balanc' in command
    ]

    for command in [*commands, *commands]:
        if ways.way(page.stem, command).how == ways.HERE:
            workspace.type_in(command, tmp_path, workspace.environment())
