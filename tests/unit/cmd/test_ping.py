"""The command `placement-policy ping`."""

import contextlib
import datetime
import json

import pytest

from placement_worker.cmd import targets
from placement_worker.contract.model import Capabilities

STARTED = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


class Replying:
    """A caller whose worker describes itself."""

    def get_capabilities(self):
        return Capabilities(
            version='1.1',
            policy_types=[],
            hostname='h',
            host='w1',
            pid=7,
            started_at=STARTED,
        )


@pytest.fixture
def replying(monkeypatch):
    """Replace the running worker; return the arguments of each command."""
    seen = []

    def open_caller(args):
        seen.append(args)
        return contextlib.nullcontext(Replying())

    monkeypatch.setattr(targets, 'open_caller', open_caller)
    return seen


def test_ping_of_a_worker_prints_its_identity_and_the_elapsed_time(program, replying):
    """The reply names host, process, version and start of the worker."""
    status, out, _ = program('ping', '--transport', 'rabbit://x/', '-f', 'json')

    reply = json.loads(out)
    assert status == 0
    assert reply.pop('elapsed_ms') >= 0
    assert reply == {
        'host': 'w1',
        'hostname': 'h',
        'pid': 7,
        'version': '1.1',
        'started_at': '2026-01-02T03:04:05+00:00',
    }


def test_ping_with_server_asks_that_worker(program, replying):
    """The option --server selects one worker by its host."""
    program('ping', '--transport', 'rabbit://x/', '--server', 'h')

    assert [args.server for args in replying] == ['h']


def test_ping_without_target_is_refused(program):
    """A ping needs running workers, so the command names the options."""
    status, _, err = program('ping')

    assert status == 2
    assert '--transport or --config-file' in err


def test_ping_help_names_the_only_default_of_the_timeout(program):
    """A ping never waits for a load balancer, so its help does not mention one."""
    _, out, _ = program('ping', '--help')

    shown = ' '.join(out.split())
    assert 'default: 60' in shown
    assert 'load balancers' not in shown
