"""The pages on tasks: their programs and commands, typed in the order of each page."""

import contextlib
import itertools
import sqlite3
import subprocess

import pytest
import yaml

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.rpc import SLOW_TOPIC, TOPIC
from tests.functional.conftest import has_ended, responds
from tests.manual import ways, workspace
from tests.manual.pages import HOW_TO, blocks
from tests.waiting import DEADLINE_S, wait_for

CONFIGURATION = 'examples/how-to/worker.conf'
NO_BROKER = 'rabbit://guest:guest@127.0.0.1:1/'
# The broker of the pages.
URL = 'rabbit://guest:guest@127.0.0.1:5672/'
START_TIMEOUT_S = 90
ENVIRONMENT = workspace.environment(PYTHONWARNINGS='ignore')


def is_typed(page, command):
    return 'types the pages on tasks' in ways.way(page.stem, command).reason


def typed_blocks(page):
    """Return the blocks with commands that this module runs, each with the shown output or None."""
    found = blocks(page)
    return [
        (block, following.text if following and following.is_output else None)
        for block, following in itertools.zip_longest(found, found[1:])
        if any(is_typed(page, command) for command in block.commands)
    ]


TYPED = [page for page in HOW_TO if typed_blocks(page)]


def wait_until_ready(worker, url, topic, log):
    with contextlib.closing(PolicyClient(url, topic=topic, timeout_s=5)) as client:
        wait_for(lambda: has_ended(worker) or responds(client), START_TIMEOUT_S)
    assert not has_ended(worker), log.read_text()


@pytest.fixture(scope='module')
def clone(tmp_path_factory):
    folder = tmp_path_factory.mktemp('clone')
    workspace.furnish(folder, [])
    return folder


@pytest.fixture(scope='module')
def url(own_broker, clone):
    configuration, log = clone / CONFIGURATION, clone / 'log'
    configuration.write_text(configuration.read_text().replace(URL, own_broker.url))
    command = ['placement-worker', '--config-file', CONFIGURATION]
    with log.open('w') as output:
        worker = subprocess.Popen(command, cwd=clone, env=ENVIRONMENT, stderr=output)
    try:
        for topic in (TOPIC, SLOW_TOPIC):
            wait_until_ready(worker, own_broker.url, topic, log)
        yield own_broker.url
    finally:
        worker.terminate()
        worker.wait(DEADLINE_S)


def actions(file):
    """Return the stored actions of the program of a whole action: id -> state and request."""
    with contextlib.closing(sqlite3.connect(file)) as database:
        rows = database.execute('SELECT id, state, request FROM actions').fetchall()
    return {action_id: (state, request) for action_id, state, request in rows}


def run(command, clone, status=0):
    """Run a command in bash, and return its output without the warnings of libraries."""
    options = {'cwd': clone, 'env': ENVIRONMENT, 'capture_output': True, 'text': True}
    done = subprocess.run(['bash', '-euc', command], check=False, timeout=DEADLINE_S, **options)
    assert done.returncode == status, f'{command}\n{done.stdout}{done.stderr}'
    return done.stdout


@pytest.mark.parametrize('page', TYPED, ids=lambda page: page.stem)
def test_commands_of_a_task_print_the_shown_output(page, url, clone):
    """Each program of a page on a task succeeds, and prints the output that the page shows."""
    for block in blocks(page):
        if block.caption and block.kind != 'bash':
            (clone / block.caption).write_text(f'{block.text}\n')

    for block, shown in typed_blocks(page):
        printed = ''.join(run(command.replace(URL, url), clone) for command in block.commands)
        assert printed
        if shown is not None:
            assert workspace.timeless(printed) == workspace.timeless(shown), block.place


def test_each_task_with_a_worker_is_typed():
    """Each page that needs the worker has commands that this module runs."""
    needing = {page for page in HOW_TO if 'how-to-worker>`' in page.read_text()}

    assert needing
    assert needing <= set(TYPED)


def test_check_stored_before_a_failure_gets_its_reply_in_the_next_run(url, clone):
    """The program that casts finds a check that it could not cast in its database."""
    program = 'python3 examples/how-to/durable_casts.py'
    assert run(f'{program} {NO_BROKER} examples/scale-out.yaml', clone, status=1) == ''

    printed = run(f'{program} {url}', clone)

    assert printed == '6f0c2c1e-scale-out-BEFORE: OK: Completed policy checking.\n'
    assert run(f'{program} {url} examples/scale-out.yaml', clone) == ''


def test_action_stored_before_a_failure_is_carried_out_in_the_next_run(url, clone):
    """The program of a whole action continues with a stored action, once."""
    program = 'python3 examples/how-to/actions.py'
    stored = run(f'{program} {NO_BROKER} grow-2 CLUSTER_SCALE_OUT 1', clone, status=1)

    printed = run(f'{program} {url}', clone)

    assert stored.splitlines() == ['grow-2: NEW -> BEFORE: The action is stored']
    steps = [line.split(': ')[1] for line in printed.splitlines()]
    assert steps == ['BEFORE -> ACT', 'ACT -> AFTER', 'AFTER -> DONE']
    assert run(f'{program} {url} grow-2 CLUSTER_SCALE_OUT 1', clone) == ''


def test_repeated_reply_to_a_whole_action_changes_nothing(url, clone):
    """The program of a whole action ignores the second reply of a phase that has passed."""
    program = f'python3 examples/how-to/actions.py {url}'
    run(f'{program} grow-3 CLUSTER_SCALE_OUT 1', clone)
    database = clone / 'actions.sqlite'
    before = actions(database)['grow-3']
    reply_to = {'exchange': 'engine', 'topic': 'replies.actions', 'method': 'policy_checked'}
    client = PolicyClient(url)
    request = yaml.safe_load((clone / 'examples' / 'scale-out.yaml').read_text())
    client.cast_check(request, reply_to, {'request_id': 'grow-3-BEFORE-1'})
    client.close()

    printed = run(f'{program} grow-4 CLUSTER_SCALE_OUT 1', clone)

    assert 'grow-3' not in printed
    assert printed.splitlines()[-1].startswith('grow-4: AFTER -> DONE: ')
    assert actions(database)['grow-3'] == before


@pytest.mark.parametrize(
    ('action_id', 'attempt', 'state', 'last'),
    [('grow-5', 1, 'BEFORE', 'AFTER -> DONE'), ('grow-6', 5, 'FAILED', 'BEFORE -> FAILED')],
)
def test_whole_action_without_a_reply_in_time_is_tried_five_times(
    url, clone, action_id, attempt, state, last
):
    """The program casts a check again whose deadline has passed, and fails after five attempts."""
    program = f'python3 examples/how-to/actions.py {url}'
    stored = f'python3 examples/how-to/actions.py {NO_BROKER} {action_id} CLUSTER_SCALE_OUT 1'
    run(stored, clone, status=1)
    database = sqlite3.connect(clone / 'actions.sqlite')
    with contextlib.closing(database), database:
        database.execute(
            "UPDATE actions SET request = json_set(request, '$.expires_at', ?, '$.attempt', ?)"
            ' WHERE id = ?',
            ('2026-01-01T00:00:00+00:00', attempt, action_id),
        )

    printed = run(program, clone).splitlines()

    assert printed[0] == f'{action_id}: BEFORE -> {state}: No reply in time'
    assert printed[-1].startswith(f'{action_id}: {last}: ')


def test_expired_request_is_sent_again(url, clone):
    """The program that retries sends a request again after the reply that it has expired."""
    request = yaml.safe_load((clone / 'examples' / 'scale-out.yaml').read_text())
    late = {**request, 'expires_at': '2026-01-01T00:00:00Z'}
    (clone / 'late.yaml').write_text(yaml.safe_dump(late))

    printed = run(f'python3 examples/how-to/retry.py {url} late.yaml', clone)

    assert printed.splitlines() == [
        'Request expired; next attempt in 2 s',
        'Request expired; next attempt in 4 s',
        'ERROR Request expired',
    ]
