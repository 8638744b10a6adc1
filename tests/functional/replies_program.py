"""A receiver of replies that a test kills: it notes each request and then blocks.

It prints a line when its queue is bound and consumed.
"""

import sys
import time
from pathlib import Path

from placement_worker.client.rpc_client import PolicyClient

url, name, notes = sys.argv[1:]


def note(request_id, reply):
    with Path(notes).open('a') as file:
        file.write(f'{request_id}\n')
    time.sleep(600)


with PolicyClient(url).serve_replies(name, name, note):
    print('receiving', flush=True)
    time.sleep(600)
