"""Storage for the load balancers of the embedded cloud."""

import os
import subprocess
import sys
import threading

import pytest

from placement_worker.cloud.embedded.stores import FileStore, MemoryStore

COUNT = 'with store.changing() as state: state["n"] = state.get("n", 0) + 1'


@pytest.fixture(params=['memory', 'file'])
def store(request, tmp_path):
    return MemoryStore() if request.param == 'memory' else FileStore(str(tmp_path / 'state.json'))


def test_change_is_visible_to_next_block(store):
    """A block sees the changes of the block before."""
    with store.changing() as state:
        assert state == {}
        state['x'] = {'y': [1, None, 'z']}

    with store.changing() as state:
        assert state == {'x': {'y': [1, None, 'z']}}


def test_changes_by_threads_are_serialized(store):
    """No change is lost if several threads use a store."""

    def count():
        for _ in range(50):
            with store.changing() as state:
                state['n'] = state.get('n', 0) + 1

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    with store.changing() as state:
        assert state == {'n': 200}


def test_changes_by_processes_are_serialized(tmp_path):
    """No change is lost if several processes use a file, and no temporary file remains."""
    path = str(tmp_path / 'state.json')
    code = (
        'import sys; from placement_worker.cloud.embedded.stores import FileStore\n'
        'store = FileStore(sys.argv[1])\n'
        f'for _ in range(100):\n    {COUNT}'
    )
    running = [subprocess.Popen([sys.executable, '-c', code, path]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]

    with FileStore(path).changing() as state:
        assert state == {'n': 300}
    assert sorted(os.listdir(tmp_path)) == ['state.json', 'state.json.lock']


def test_interrupted_change_of_file_is_discarded(tmp_path):
    """A file keeps its content if a block raises an error."""
    store = FileStore(str(tmp_path / 'state.json'))

    def break_off():
        with store.changing() as state:
            state['half'] = True
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()
    with store.changing() as state:
        assert state == {}
