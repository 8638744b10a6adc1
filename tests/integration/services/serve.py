"""Serve one OpenStack service on an open socket, in the environment of the services.

Usage: serve.py SERVICE NAME SOCKET FOLDER. SERVICE_service.py creates the WSGI application, and
FOLDER/etc/NAME.conf is its configuration.
"""

import importlib
import os
import socket
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import waitress
from counting import Counting

THREADS = 8
CONNECTIONS = 1000  # the default of waitress (100) blocks a service: clients keep theirs open

warnings.filterwarnings('ignore')


def run_in_child(prepare: Callable[[], None]) -> None:
    """Run a function in a child process, since a service configures itself once per process."""
    child = os.fork()
    if not child:
        try:
            prepare()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError('Preparing the service failed; see the traceback above')


def main(service: str, name: str, file: str, folder: str) -> None:
    listening = socket.socket(fileno=int(file))
    host, port = listening.getsockname()
    config = Path(folder, 'etc', f'{name}.conf')
    sys.argv = [name]  # services read their name from it
    module = importlib.import_module(f'{service}_service')
    run_in_child(lambda: module.prepare(config, f'http://{host}:{port}'))
    application = Counting(module.application(config), getattr(module, 'CONTROLS', {}))
    limits = {'threads': THREADS, 'connection_limit': CONNECTIONS, 'asyncore_use_poll': True}
    waitress.serve(application, sockets=[listening], ident=None, **limits)


if __name__ == '__main__':
    main(*sys.argv[1:])
