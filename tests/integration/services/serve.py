"""serve.py SERVICE NAME SOCKET FOLDER: one OpenStack service on an open socket; runs in the
services' environment.

SERVICE names the module beside this one that makes the WSGI application, NAME the configuration
FOLDER/etc/NAME.conf.
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
CONNECTIONS = 1000  # clients of the tests leave theirs open; with waitress' own 100 a service stops answering for a minute

warnings.filterwarnings('ignore')


def run_apart(prepare: Callable[[], None]) -> None:
    """Run it in a child, for the services configure themselves once a process."""
    child = os.fork()
    if not child:
        try:
            prepare()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError('preparing failed; see above')


def main(service: str, name: str, file: str, folder: str) -> None:
    listening = socket.socket(fileno=int(file))
    host, port = listening.getsockname()
    config = Path(folder, 'etc', f'{name}.conf')
    sys.argv = [name]  # the services read it
    module = importlib.import_module(f'{service}_service')
    run_apart(lambda: module.prepare(config, f'http://{host}:{port}'))
    application = Counting(module.application(config), getattr(module, 'CONTROLS', {}))
    limits = {'threads': THREADS, 'connection_limit': CONNECTIONS, 'asyncore_use_poll': True}
    waitress.serve(application, sockets=[listening], ident=None, **limits)


if __name__ == '__main__':
    main(*sys.argv[1:])
