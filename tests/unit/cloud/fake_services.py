"""Minimal fakes of Keystone, Nova, Neutron and Octavia on one port of the loopback interface."""

import itertools
import json
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from placement_worker.contract.model import Credentials
from placement_worker.errors import ServiceFailed

PROJECTS = {
    'trust-a': 'project-a', 'trust-a2': 'project-a', 'trust-b': 'project-b', None: 'service',
}  # fmt: skip
REGIONS = ('RegionOne', 'RegionTwo')
TRUST = Credentials('trust-a')
TOKENS, ZONES = '/auth/tokens', '/os-availability-zone'
REGION_LIST, SERVERS = '/v3/regions', '/servers/detail'
SERVICE_ID = 'req-77777777-0d4e-4f56-8a9b-0c1d2e3f4a5b'
DRIP_S = 0.05
MANY = 20
WAIT_S = 60


class FakeServices(ThreadingHTTPServer):
    """Services whose content the tests set.

    :ivar seen: the requests so far, as (method, path, query).
    :ivar bodies: the bodies of these requests.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(('127.0.0.1', 0), Handler)
        self.url = f'http://127.0.0.1:{self.server_port}'
        self.seen = []
        self.bodies = []
        self.tokens = {}
        self.trusts = dict(PROJECTS)
        self.interfaces = ('public',)
        self.lifetime_s = 3600
        self.zones = {'RegionOne': {'az1': True, 'az2': False}, 'RegionTwo': {'az3': True}}
        self.servers = []
        self.networks = []
        self.subnets = []
        self.faults = defaultdict(list)
        self.before = lambda method, path: None
        self._lock = threading.Lock()
        self._serials = itertools.count(1)
        threading.Thread(
            target=self.serve_forever, kwargs={'poll_interval': 0.05}, daemon=True
        ).start()

    def fail(self, path, *faults):
        """Let the next requests for a path with this ending fail, one per fault."""
        self.faults[path] += faults

    def count(self, path):
        """Return the number of requests for a path with this ending."""
        return len([one for one in self.seen if one[1].endswith(path)])

    def fault(self, path):
        with self._lock:
            for end, faults in self.faults.items():
                if path.endswith(end) and faults:
                    return faults.pop(0)
        return None

    def token(self, trust_id):
        with self._lock:
            token = f'secret-token-{next(self._serials)}'
            self.tokens[token] = trust_id
            return token

    def close(self):
        self.shutdown()
        self.server_close()


def respond(status, body='', **headers):
    return lambda handler: handler.reply(status, body, **headers)


def reset(handler):
    handler.close_connection = True
    handler.connection.shutdown(2)


def hang(handler):
    with suppress(OSError):
        handler.connection.recv(1)


def drip(text):
    """Return a fault that sends this text and then one byte after another, without an end."""

    def fault(handler):
        with suppress(OSError):
            handler.wfile.write(text)
            while True:
                handler.wfile.write(b' ')
                time.sleep(DRIP_S)

    return fault


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def handle_any(self):
        parts = urlsplit(self.path)
        size = int(self.headers.get('Content-Length') or 0)
        self.body = json.loads(self.rfile.read(size) or '{}')
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        self.server.seen.append((self.command, parts.path, query))
        self.server.bodies.append(self.body)
        self.server.before(self.command, parts.path)
        fault = self.server.fault(parts.path)
        if fault:
            fault(self)
        else:
            self.serve(parts.path, query)

    do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815

    def serve(self, path, query):
        if path == '/v3/auth/tokens':
            return self.log_in()
        if path == '/v3':
            links = [{'rel': 'self', 'href': f'{self.server.url}/v3'}]
            return self.reply(200, {'version': {'id': 'v3.14', 'status': 'stable', 'links': links}})
        if self.server.tokens.get(self.headers.get('X-Auth-Token'), '') not in self.server.trusts:
            return self.reply(401, {'error': {'message': 'The token is not valid.'}})
        service, _, rest = path.strip('/').partition('/')
        if service.startswith('nova-'):
            return self.serve_nova(service.removeprefix('nova-'), rest, query)
        return getattr(self, f'serve_{service}')(rest, query)

    def log_in(self):
        trust_id = self.body['auth'].get('scope', {}).get('OS-TRUST:trust', {}).get('id')
        if trust_id not in self.server.trusts:
            return self.reply(404, {'error': {'message': f'Could not find trust: {trust_id}.'}})
        now = time.time()
        domain = {'domain': {'id': 'default', 'name': 'Default'}}
        token = {
            'methods': ['password'],
            'user': {'id': 'u', 'name': 'u', **domain},
            'project': {'id': self.server.trusts[trust_id], 'name': 'p', **domain},
            'issued_at': stamp(now),
            'expires_at': stamp(now + self.server.lifetime_s),
            'catalog': self.catalog(),
            'OS-TRUST:trust': {'id': trust_id},
        }
        return self.reply(201, {'token': token}, X_Subject_Token=self.server.token(trust_id))

    def catalog(self):
        paths = {'compute': '/nova-{}', 'network': '/neutron', 'load-balancer': '/octavia'}
        return [
            {
                'id': kind,
                'type': kind,
                'name': kind,
                'endpoints': [
                    {
                        'id': f'{kind}{region}',
                        'interface': interface,
                        'region': region,
                        'region_id': region,
                        'url': self.server.url + path.format(region),
                    }
                    for region in REGIONS
                    for interface in self.server.interfaces
                ],
            }
            for kind, path in paths.items()
        ]

    def serve_v3(self, path, query):
        assert path == 'regions'
        self.reply(200, {'regions': [{'id': region, 'links': {}} for region in REGIONS]})

    def serve_nova(self, region, path, query):
        if path == 'os-availability-zone':
            zones = self.server.zones[region].items()
            rows = [{'zoneName': name, 'zoneState': {'available': up}} for name, up in zones]
            return self.reply(200, {'availabilityZoneInfo': rows})
        assert path == 'servers/detail'
        servers, size = self.server.servers, min(int(query['limit']), 2)
        ids = [server['id'] for server in servers]
        end = (ids.index(query['marker']) + 1 if 'marker' in query else 0) + size
        links = [{'rel': 'next', 'href': 'http://elsewhere/'}]
        more = {'servers_links': links} if end < len(servers) else {}
        return self.reply(200, {'servers': servers[end - size : end], **more})

    def serve_neutron(self, path, query):
        what = path.rpartition('/')[2]
        [(key, value)] = query.items()
        self.reply(200, {what: [row for row in getattr(self.server, what) if row[key] == value]})

    def serve_octavia(self, path, query):
        key = path.rpartition('/')[2]
        body = {key: [], f'{key}_links': []} if self.command == 'GET' else self.body
        self.reply(200 if self.command == 'GET' else 202, body)

    def reply(self, status, body, **headers):
        """Send a body, as JSON unless it is text, and headers, whose names have _ instead of -."""
        text = body if isinstance(body, (str, bytes)) else json.dumps(body)
        content = text.encode() if isinstance(text, str) else text
        with suppress(OSError):
            self.send_response_only(status)
            for name, value in {'Content_Type': 'application/json', **headers}.items():
                self.send_header(name.replace('_', '-'), value)
            self.send_header('Content-Length', str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, *_):
        """Print nothing."""


def stamp(moment):
    return time.strftime('%Y-%m-%dT%H:%M:%S.000000Z', time.gmtime(moment))


def server(server_id, zone='az1', addresses=('10.0.0.5',)):
    cards = [{'addr': address, 'version': 4, 'OS-EXT-IPS:type': 'fixed'} for address in addresses]
    return {
        'id': server_id,
        'name': server_id,
        'OS-EXT-AZ:availability_zone': zone,
        'addresses': {'net': cards} if cards else {},
    }


def at_once(call):
    """Return the result of a call in each of many threads, or the error that it raises."""
    gate = threading.Barrier(MANY)

    def run(_):
        gate.wait(WAIT_S)
        try:
            return call()
        except ServiceFailed as exc:
            return exc

    with ThreadPoolExecutor(MANY) as threads:
        return list(threads.map(run, range(MANY)))


def hold(services, path):
    """Block requests for a path; return the event that lets them continue."""
    opened = threading.Event()
    services.before = lambda method, asked: opened.wait(WAIT_S) if asked.endswith(path) else None
    return opened
