"""Established connections to members that leave a pool, with haproxy as in Octavia's amphora."""

import contextlib
import os
import shutil
import socket
import socketserver
import subprocess
import threading

import pytest

from tests.factories import deletion_policy, node, request
from tests.simulated_octavia import Lab
from tests.waiting import wait_for

PROGRAM = shutil.which('haproxy', path=f'{os.environ["PATH"]}:/usr/sbin')
DEADLINE_S = 60
CONFIGURATION = """
global
    nbthread 1
defaults
    mode tcp
    timeout connect 60s
    timeout client 10m
    timeout server 10m
frontend front
    bind fd@{listener}
    default_backend members
backend members
    balance roundrobin
{servers}
"""


class Echo(socketserver.StreamRequestHandler):
    """Answer each line with the address of the node."""

    timeout = DEADLINE_S  # the end of the server waits for each connection

    def handle(self):
        self.server.connections.append(self.connection)
        with contextlib.suppress(OSError):
            for _ in self.rfile:
                self.wfile.write(self.server.server_address[0].encode() + b'\n')


class Server(socketserver.ThreadingTCPServer):
    """The server of a node, with an address of its own on loopback."""

    def __init__(self, address, port):
        self.connections = []
        super().__init__((address, port), Echo)
        self._accepting = threading.Thread(target=self.serve_forever, args=(0.05,))
        self._accepting.start()

    def delete(self):
        self.shutdown()
        self._accepting.join()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()


class Haproxy:
    """haproxy over the members of a simulated pool.

    A reload starts a process that takes over from the old one (`-sf`), as in the amphora.
    """

    def __init__(self, folder, lab):
        assert PROGRAM, 'install haproxy (Debian: apt-get install haproxy)'
        self._folder, self._lab = folder, lab
        self._listener = socket.create_server(('127.0.0.1', 0))
        self._processes = []
        self._start()

    def reload(self):
        """Start a process for the current members; return when the old one accepts no more."""
        old = self._processes[-1]
        self._start('-sf', str(old.pid))
        log = self._folder / 'haproxy-0.log'
        wait_for(lambda: 'Proxy front stopped' in log.read_text())

    def _start(self, *arguments):
        number = len(self._processes)
        file = self._folder / f'haproxy-{number}.cfg'
        file.write_text(self._configuration())
        with (self._folder / f'haproxy-{number}.log').open('wb') as log:
            process = subprocess.Popen(
                [PROGRAM, '-db', '-f', file, *arguments],
                stderr=log,
                pass_fds=[self._listener.fileno()],
            )
        self._processes.append(process)

    def _configuration(self):
        servers = [
            f'    server {member["name"]} {member["address"]}:{member["protocol_port"]}'
            for member in self._lab.settled()['member']
        ]
        return CONFIGURATION.format(listener=self._listener.fileno(), servers='\n'.join(servers))

    def connect(self):
        return socket.create_connection(self._listener.getsockname(), timeout=DEADLINE_S)

    def close(self):
        for process in self._processes:
            process.kill()
            process.wait()
        self._listener.close()


def answer(connection):
    """Send a line; return the address of the node that answers, or '' if the connection ended."""
    try:
        connection.sendall(b'who\n')
        return connection.recv(100).decode().strip()
    except (ConnectionResetError, BrokenPipeError):
        return ''


def servers():
    """Return servers of two nodes at one port of different addresses."""
    for _ in range(100):
        first = Server('127.0.0.2', 0)
        try:
            return [first, Server('127.0.0.3', first.server_address[1])]
        except OSError:
            first.delete()
    raise AssertionError('no port is free at both addresses')


@pytest.fixture
def nodes():
    started = {server.server_address[0]: server for server in servers()}
    yield started
    for server in started.values():
        server.delete()


def listed(address):
    number = int(address.rpartition('.')[2])
    at = {'private': [{'addr': address, 'version': 4}]}
    return node(number, name=f'n{number}', details={'addresses': at})


@pytest.fixture
def cluster(nodes):
    """A simulated Octavia, an attached policy, and the nodes of the request."""
    lab = Lab()
    port = next(iter(nodes.values())).server_address[1]
    parts = {
        'pool': {'protocol': 'TCP', 'protocol_port': port},
        'vip': {'protocol': 'TCP', 'subnet': 'private-subnet'},
    }
    return lab, *lab.attached([listed(address) for address in nodes], version='1.4', **parts)


@pytest.fixture
def balancer(tmp_path, cluster):
    started = Haproxy(tmp_path, cluster[0])
    yield started
    started.close()


def test_connection_to_a_removed_member_lives_until_its_node_is_deleted(nodes, cluster, balancer):
    """A removal ends no connection: new ones go elsewhere, and the old one ends with its node."""
    lab, policy, members = cluster
    with balancer.connect() as held:
        address = answer(held)
        victim = next(member['id'] for member in members if member['name'][1:] == address[-1])

        reply = lab.check(
            request(
                'CLUSTER_DEL_NODES',
                [deletion_policy(grace_period=60), policy],
                members,
                inputs={'candidates': [victim]},
            )
        )
        balancer.reload()

        assert reply['action']['data']['deletion']['grace_period'] == 60
        (other,) = nodes.keys() - {address}
        assert lab.addresses() == [other]
        for _ in range(4):
            with balancer.connect() as new:
                assert answer(new) == other
        assert answer(held) == address
        nodes[address].delete()
        assert answer(held) == ''
