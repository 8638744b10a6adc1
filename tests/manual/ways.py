"""The test of each command of the manual; the first pattern that matches counts."""

import re
from typing import NamedTuple

# The command runs unchanged over the embedded cloud: `test_embedded.py`.
HERE = 'here'
# The command runs against a worker on a private RabbitMQ: `test_worker.py`.
WORKER = 'worker'
# Root runs the command in folders that only the test sees: `test_installation.py`.
ROOT = 'root'
# The command runs in a fresh clone with packages from PyPI: `test_tutorial.py`.
FRESH = 'fresh'
# The test that the reason names runs the command.
ELSEWHERE = 'elsewhere'
# Bash only parses the command, for the given reason.
SYNTAX = 'syntax'


class Way(NamedTuple):
    """Regular expressions for a page and a command, with the kind of their test and a reason."""

    page: str
    command: str
    how: str
    reason: str = ''


WAYS = [
    Way('tutorial', r'sudo apt-get ', SYNTAX, 'tests must not change the machine'),
    Way('tutorial', r'(env RABBITMQ|kill "\$\(cat broker/pid\)")', ELSEWHERE,
        'tests/manual/test_tutorial.py: runs it next to another broker'),
    Way('tutorial', r'(python3|\.venv|export|placement-worker|.* worker\.conf|sed -i .s/false)',
        FRESH),
    Way('tutorial', r'.*', HERE),
    Way('README', r'python3 -m venv .venv && ', FRESH),
    Way('README', r'export PATH=', HERE),
    Way('commands', r'placement-policy completion bash > /etc/', ROOT),
    Way('bus-security', r'rabbitmqctl ', ELSEWHERE, 'tests/functional/test_bus_security.py'),
    Way('bus-security', r'(install|chown|chmod) ', ROOT),
    Way('(openstack|attach-a-policy)', r'openstack ', SYNTAX,
        'needs Keystone; tests/integration creates such users and trusts'),
    Way('policies', r'openstack cluster node update ', SYNTAX,
        "needs Senlin's API; tests/senlin sets the metadata in its database"),
    Way('policies', r'openstack cluster (update|expand|members list|shrink) ', SYNTAX,
        "needs Senlin's API; tests/unit/policies/test_victims.py simulates the update"),
    Way('rebalance', r'openstack cluster ', SYNTAX,
        "needs Senlin's API; tests/unit/handlers/test_rebalancing.py takes the steps by checks"),
    Way('cordons', r'openstack ', SYNTAX,
        'needs the APIs of Senlin and Nova; tests/unit/policies tests the deletions'),
    Way(
        'runbook',
        r'openstack ',
        SYNTAX,
        'needs the APIs of Senlin and Octavia; tests/unit/policies/load_balancing tests the checks',
    ),
    Way('(cordons|replay)', r'rsync ', SYNTAX, 'needs a second host'),
    Way('cordons', r'install ', WORKER),
    Way('senlin', r"pip install 'placement-worker\[senlin\]'", SYNTAX,
        'installs the real Senlin: tox -e senlin does'),
    Way('heat', r"(pip install 'placement-worker\[heat\]'|python3 -c .*engines\.heat)", SYNTAX,
        'installs the real Heat: tox -e heat does'),
    Way('heat', r'openstack ', SYNTAX, "needs Heat's API, which tests/heat calls"),
    Way('heat', r'placement-worker-status ', SYNTAX, 'test_health.py has the file of an engine'),
    Way('(calling|other-languages)', r'python3 examples/engine-client/', ELSEWHERE,
        'tests/functional/test_engine_client.py'),
    Way('plan', r'placement-policy (export |plan --cloud cloud\.yaml )', ELSEWHERE,
        'tests/cloud/test_export.py: exports from a real Senlin; tests/heat from a real Heat'),
    Way('writing-a-policy', r'(pip install|python3 -m pytest) ', HERE),
    Way('', r'(export PYTHONWARNINGS=|placement-worker --config-file examples/how-to/)',
        ELSEWHERE, 'tests/functional/test_how_to.py: starts a worker with that configuration'),
    Way('', r'.*(examples/how-to/\w+\.(py|conf)|guest:guest@127|replay decisions\.jsonl)',
        ELSEWHERE, 'tests/functional/test_how_to.py: types the pages on tasks'),
    Way('package-a-policy', r'(pip install|python3 -m pytest) ', HERE),
    Way('runbook', r'(systemctl status|journalctl|rabbitmqctl list_queues) ', ELSEWHERE,
        'tests/manual/test_installation.py: types them on the pages install and operating'),
    Way('(rebalance|cordons)', r'.*\bweb\.yaml', ELSEWHERE,
        'tests/unit/cmd/test_decision_logs.py: prints a cluster and plans its rebalance'),
    Way('runbook', r'.*\brequest\.yaml', ELSEWHERE,
        'tests/unit/cmd/test_decision_logs.py: prints a request and reads it again'),
    Way('runbook', r'systemctl kill ', SYNTAX,
        'needs systemd; tests/functional/test_health.py sends USR2, others send KILL'),
    Way('configuration', r'oslo-config-validator ', SYNTAX, "reads an operator's file of /etc"),
    Way('capacity', r'systemctl show ', SYNTAX, 'needs systemd'),
    Way('capacity', r'curl ', ELSEWHERE, 'tests/unit/doc/test_capacity.py: compares the name'),
    Way('(delivery|runbook)', r'curl .*dead_lettered_expired_total', ELSEWHERE,
        'tests/functional/test_metrics.py: reads the counter'),
    Way('runbook', r'curl ', ELSEWHERE,
        'tests/unit/test_monitoring.py: compares the pattern with the names of the metrics'),
    Way('monitoring', r'sed ', ELSEWHERE, 'tests/unit/test_monitoring.py'),
    Way('(install|operating)$', r'python3 -c .*getpass', SYNTAX,
        'asks for a password on a terminal'),
    Way('install', r'rabbitmqctl set_policy ', ELSEWHERE,
        'tests/functional/outages/test_partitions.py: only RabbitMQ 4.3 accepts it'),
    Way('(install|operating)$', r'(?!placement-policy parked ).*', ROOT),
    Way('', r'placement-policy (clusters|parked|ping|replay|why) ', WORKER),
    Way('', r'placement-policy .*--(transport|config-file) ', WORKER),
    Way('', r'placement-worker-status ', WORKER),
    Way('', r'kill -USR2 PID$', WORKER),
    Way('', r'rm -f load-balancers\.json', HERE),
    Way('', r'(sed .*\| )?placement-policy ', HERE),
]  # fmt: skip


def way(page: str, command: str) -> Way | None:
    """Return the test of a command of a page; None without an entry."""
    return next(
        (one for one in WAYS if re.match(one.page, page) and re.match(one.command, command)), None
    )
