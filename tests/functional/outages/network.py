"""Hosts in network namespaces of this process, on a bridge that drops packets between them.

A namespace belongs to a thread, so a client that is created `inside` a host has its connections
there, as have its threads and processes. A namespace has no name and ends with this process.
"""

import contextlib
import ctypes
import os
import subprocess
from functools import partial

from tests.broker import Host

CLONE_NEWNET = 0x40000000
NAMESPACE = '/proc/thread-self/ns/net'
LIBC = ctypes.CDLL(None, use_errno=True)
PATH = f'{os.environ["PATH"]}:/usr/sbin'


class Network:
    """Hosts of the given names, each with an address.

    Erlang finds them in a file (https://www.erlang.org/doc/apps/erts/inet_cfg). It raises OSError
    if this process must not make namespaces, or `ip` is not installed.
    """

    def __init__(self, names, folder):
        file = folder / 'hosts'
        lines = [f'{{host, {{10,213,7,{n}}}, ["{name}"]}}.\n' for n, name in enumerate(names, 1)]
        file.write_text(''.join([*lines, '{lookup, [file, native]}.\n']))
        self._hub = _namespace()
        with _entered(self._hub):
            _run('ip link add hub type bridge')
            _run('ip link set hub up')
        self.hosts = {}
        for number, name in enumerate(names, 1):
            address, inside = f'10.213.7.{number}', partial(_entered, _namespace())
            hub = f'/proc/{os.getpid()}/fd/{self._hub}'
            with inside():
                _run('ip link set lo up')
                _run(f'ip link add eth0 type veth peer name port{number} netns {hub}')
                _run(f'ip address add {address}/24 dev eth0')
                _run('ip link set eth0 up')
            with _entered(self._hub):
                _run(f'ip link set port{number} master hub up')
            self.hosts[name] = Host(name, address, inside, {'ERL_INETRC': str(file)})

    def cut(self, some, others):
        """Drop all packets between two groups of hosts during a block."""
        one, other = self._addresses(some), self._addresses(others)
        rules = [f'ip saddr {a} ip daddr {b} drop' for a, b in ((one, other), (other, one))]
        return _rules(partial(_entered, self._hub), 'bridge', 'forward', rules)

    def placed(self, name, refusing):
        """Refuse new connections of a host to others; it connects to those that are left."""
        new = 'tcp flags & (syn | ack) == syn'
        rule = f'ip daddr {self._addresses(refusing)} {new} reject with tcp reset'
        return _rules(self.hosts[name].inside, 'ip', 'output', [rule])

    def _addresses(self, names):
        return f'{{ {", ".join(self.hosts[name].address for name in names)} }}'


def _namespace():
    with _entered():
        return os.open(NAMESPACE, os.O_RDONLY)


@contextlib.contextmanager
def _entered(namespace=None):
    """Enter a namespace, by default a new one, during a block."""
    home = os.open(NAMESPACE, os.O_RDONLY)
    _check(LIBC.setns(namespace, CLONE_NEWNET) if namespace else LIBC.unshare(CLONE_NEWNET))
    try:
        yield
    finally:
        _check(LIBC.setns(home, CLONE_NEWNET))
        os.close(home)


@contextlib.contextmanager
def _rules(inside, family, hook, rules):
    lines = [f'table {family} test {{ chain test {{', f'type filter hook {hook} priority 0', *rules]
    with inside():
        _run('nft -f -', '\n'.join([*lines, '}', '}', '']))
    try:
        yield
    finally:
        with inside():
            _run(f'nft delete table {family} test')


def _check(result):
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _run(command, text=''):
    environment = {**os.environ, 'PATH': PATH}
    subprocess.run(command.split(), input=text, check=True, text=True, env=environment)
