"""How each command of the manual is tried; the first pattern that fits counts."""

import re
from typing import NamedTuple

HERE = 'here'
"""As it stands, over the embedded cloud: `test_embedded.py`."""
WORKER = 'worker'
"""With a worker on a private RabbitMQ: `test_worker.py`."""
ROOT = 'root'
"""By root, on a machine's folders that only the test sees: `test_installation.py`."""
FRESH = 'fresh'
"""In a fresh clone, with what is installed from PyPI: `test_tutorial.py`, which types the whole
tutorial.
"""
ELSEWHERE = 'elsewhere'
"""As it stands, by the test that the reason names."""
SYNTAX = 'syntax'
"""Not run, for the reason that is given; bash reads it."""


class Way(NamedTuple):
    """A page and a command, as regular expressions, how that is tried, and why not otherwise."""

    page: str
    command: str
    how: str
    reason: str = ''


WAYS = [
    Way(
        'tutorial',
        r'sudo apt-get ',
        SYNTAX,
        'the machine that runs the tests is not theirs to change',
    ),
    Way(
        'tutorial',
        r'env RABBITMQ',
        ELSEWHERE,
        'tests/manual/test_tutorial.py: beside another broker',
    ),
    Way(
        'tutorial',
        r'(python3|\.venv|export|placement-worker|.* worker\.conf|sed -i .s/false)',
        FRESH,
    ),
    Way('tutorial', r'.*', HERE),
    Way('README', r'python3 -m venv .venv && ', FRESH),
    Way('README', r'tools/test$', ELSEWHERE, '.ci/run: it is what runs this'),
    Way('README', r'placement-policy complete > /etc/', ROOT),
    Way('bus-security', r'rabbitmqctl ', ELSEWHERE, 'tests/functional/test_bus_security.py'),
    Way('bus-security', r'(install|chown|chmod) ', ROOT),
    Way(
        'openstack',
        r'openstack ',
        SYNTAX,
        'needs Keystone; tests/integration makes such users and trusts',
    ),
    Way(
        'senlin',
        r"pip install 'placement-worker\[senlin\]'",
        SYNTAX,
        'installs the real Senlin: tox -e senlin does',
    ),
    Way('writing-a-policy', r'pip install ', HERE),
    Way('(install|operating)$', r'(?!placement-policy parked ).*', ROOT),
    Way('', r'placement-policy (parked|ping|replay) ', WORKER),
    Way('', r'placement-policy .*--(transport|config-file) ', WORKER),
    Way('', r'placement-worker-status ', WORKER),
    Way('', r'kill -USR2 PID$', WORKER),
    Way('', r'rm -f load-balancers\.json', HERE),
    Way('', r'(sed .*\| )?placement-policy ', HERE),
]


def way(page: str, command: str) -> Way | None:
    """How a command of a page is tried; None if nobody has said so."""
    return next(
        (one for one in WAYS if re.match(one.page, page) and re.match(one.command, command)), None
    )
