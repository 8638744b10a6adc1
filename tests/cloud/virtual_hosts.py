"""The virtual hosts of the broker, which it creates when it starts."""

import json
from collections.abc import Iterable

from tests.broker import Broker


def define(broker: Broker, names: Iterable[str]) -> None:
    """Let the broker create virtual hosts in which its only user may do everything."""
    hosts = ['/', *names]
    everything = {'configure': '.*', 'write': '.*', 'read': '.*'}
    definitions = {
        'vhosts': [{'name': host} for host in hosts],
        'users': [{'name': 'guest', 'password': 'guest', 'tags': 'administrator'}],
        'permissions': [{'user': 'guest', 'vhost': host, **everything} for host in hosts],
    }
    file = broker.folder / 'definitions.json'
    file.write_text(json.dumps(definitions))
    broker.configure(f'load_definitions = {file}\n')
