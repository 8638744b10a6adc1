"""Unknown options in the configuration of a worker that starts."""

import os
import signal

import pytest

from tests.waiting import wait_for

CLOUD = {'zones': {'a': True}}


def warnings(worker):
    """Return the log records of the check for unknown options, without their times."""
    lines = worker.log.read_text().splitlines()
    return [
        line.partition('unknown_options ')[2]
        for line in lines
        if 'WARNING placement_worker.config.unknown_options' in line
    ]


@pytest.fixture
def package(tmp_path):
    """Return a function that installs a package which runs the given code when its options are
    listed.
    """

    def install(code):
        info = tmp_path / 'broken-1.0.dist-info'
        info.mkdir()
        (info / 'METADATA').write_text('Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n')
        (info / 'entry_points.txt').write_text('[oslo.config.opts]\nbroken = broken:list_opts\n')
        (tmp_path / 'broken.py').write_text(code)
        return {**os.environ, 'PYTHONPATH': str(tmp_path)}

    return install


def test_unknown_options_of_a_worker_that_starts_are_logged_once_each(start_worker):
    """An operator finds a misspelled option in the log, with the name that was probably meant."""
    worker = start_worker(CLOUD, '[clod]\nbackend = inventory\n', treads=3)

    ending = f' in {worker.config}; it has no effect'
    assert [line[line.index('Unknown') :] for line in warnings(worker)] == [
        f'Unknown section [clod] (did you mean cloud?){ending}',
        f'Unknown option [worker] treads (did you mean threads?){ending}',
    ]


def test_unknown_option_of_a_reload_is_logged_once(start_worker):
    """An operator finds an option that was misspelled while the worker ran."""
    worker = start_worker(CLOUD)
    worker.config.write_text(worker.config.read_text() + 'max_request_byets = 3\n')
    os.kill(worker.process.pid, signal.SIGHUP)

    wait_for(lambda: warnings(worker))
    (line,) = warnings(worker)
    assert '[worker] max_request_byets (did you mean max_request_bytes?)' in line


@pytest.fixture
def checking(start_worker, package, tmp_path):
    """A worker, its processes that serve, and the check of a reload, which takes a while."""
    slow = f"""
import os, time
if os.path.exists({str(tmp_path / 'slow')!r}):
    time.sleep(3)
def list_opts():
    return []
"""
    worker = start_worker(CLOUD, environment=package(slow))
    serving = worker.children()
    (tmp_path / 'slow').touch()
    os.kill(worker.process.pid, signal.SIGHUP)
    (check,) = wait_for(lambda: set(worker.children()) - set(serving))
    return worker, serving, check


def test_sighup_of_all_processes_during_the_check_reloads_once(checking):
    """A SIGHUP that also reaches the check of a reload leads to no other reload."""
    worker, serving, check = checking

    os.kill(check, signal.SIGHUP)

    def reloads():
        return worker.log.read_text().count('Reloaded the mutable options')

    wait_for(lambda: reloads() >= 2 and worker.children() == serving)
    assert reloads() == 2, 'one of the parent and one of the process'
    assert warnings(worker) == []


def test_worker_stops_during_the_check_of_a_reload(checking):
    """A stop ends the check, which is no failure of it."""
    worker, _, _ = checking

    assert worker.stop() == 0
    assert warnings(worker) == []


def test_known_options_of_a_worker_that_starts_are_not_logged(start_worker):
    """A sound configuration leads to no warning."""
    assert warnings(start_worker(CLOUD)) == []


@pytest.mark.parametrize('code', ['raise ValueError', 'raise SystemExit(3)'])
def test_a_package_that_cannot_list_its_options_hides_no_unknown_option(
    start_worker, package, code
):
    """The options of all other packages are still checked."""
    worker = start_worker(CLOUD, environment=package(code), treads=3)

    (line,) = warnings(worker)
    assert '[worker] treads' in line


@pytest.mark.parametrize('code', ['import os; os._exit(3)', 'import time; time.sleep(600)'])
def test_a_package_that_ends_or_hangs_the_check_does_not_keep_a_worker_from_serving(
    start_worker, package, code
):
    """A fault of an installed package delays the start by seconds, and is logged."""
    (line,) = warnings(start_worker(CLOUD, environment=package(code)))

    assert 'Cannot check for unknown options' in line
