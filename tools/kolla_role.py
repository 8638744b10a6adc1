"""Run the role of deploy/kolla-ansible with kolla-ansible's own tasks and modules on this host.

Nothing outside a temporary folder changes. The written configuration is checked as a worker checks
it. `tox -e deploy` installs kolla-ansible.
"""

import re
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

from kolla_deployment import IMAGE, UNIT_FOLDER, Deployment, require
from oslo_config import cfg

from placement_worker.cmd import upgrade
from placement_worker.config import options, validation
from placement_worker.cordons import cordon_file

UPGRADED = '0.0.1'
"""The tag of another image, older than any, for an upgrade."""
SETTINGS: dict[str, dict[str, Any]] = {
    'encrypted': {'rabbitmq_enable_tls': True, 'kolla_copy_ca_into_containers': True},
    'without metrics': {'placement_worker_metrics_enabled': False},
}
"""Sets of variables for which the configuration is written and checked, besides the defaults."""


def check_options(file: Path) -> dict[str, dict[str, list[str]]]:
    """Check a file as a worker does, and the options of its user, which a worker skips.

    :returns: the values of each option by section.
    """
    unknown = upgrade.find_unknown_options([str(file)])
    require(not unknown, f'{file}: {"; ".join(unknown)}')
    conf = cfg.ConfigOpts()
    options.register(conf)
    options.set_defaults()
    conf([], project='placement-worker', default_config_files=[str(file)])
    validation.validate_options(conf)
    validation.validate_timeouts(conf)
    sections: dict[str, dict[str, list[str]]] = {}
    cfg.ConfigParser(str(file), sections).parse()
    known = {option.dest for option in dict(options.list_opts())[options.SERVICE_AUTH]}
    unknown = sorted(set(sections[options.SERVICE_AUTH]) - known)
    require(not unknown, f'{file}: unknown options of [{options.SERVICE_AUTH}]: {unknown}')
    return sections


def check_configurations(deployment: Deployment) -> None:
    """Write and check the configuration for all settings."""
    for name, settings in SETTINGS.items():
        deployment.run('genconfig', **settings)
        sections = check_options(deployment.written)
        certificates = deployment.written.with_name('ca.crt')
        encrypted = name == 'encrypted'
        require(('oslo_messaging_rabbit' in sections) == encrypted, f'{name}: wrong TLS')
        require(certificates.exists() == encrypted, f'{name}: wrong certificates')
        require(('metrics' in sections) == (name != 'without metrics'), f'{name}: wrong metrics')
        certificates.unlink(missing_ok=True)


def check_prometheus(deployment: Deployment) -> None:
    """Check the addresses that Prometheus reads, and that the alert rules know its jobs."""
    jobs = deployment.scrape_configuration()['scrape_configs']
    targets = {job['job_name']: job['static_configs'] for job in jobs}
    expected = {
        'placement-worker': [{'targets': ['127.0.0.1:9736']}],
        'rabbitmq-queues': [{'targets': ['127.0.0.1:15692']}],
    }
    require(targets == expected, f'Prometheus reads {targets}')


def check_cordons(deployment: Deployment) -> None:
    """Write cordons; the deployment of containers afterwards shows that none is restarted."""
    written = deployment.written.with_name('cordons.yaml')
    require(cordon_file.read(str(written)) == [], 'The workers have cordons without a file')
    source = deployment.overrides / 'placement-worker' / written.name
    source.parent.mkdir()
    source.write_text("- {zone: az1, until: '2999-12-01T06:00:00Z'}\n")
    deployment.run('genconfig')
    require(cordon_file.read(str(written)) == cordon_file.read(str(source)), 'Old cordons')


def check_life(deployment: Deployment) -> None:
    """Deploy, change, upgrade and stop a worker."""
    deployment.run('prechecks')
    deployment.run('pull')
    deployment.run('deploy')
    check_options(deployment.written)
    created = deployment.containers['placement_worker']
    require(created['State']['Status'] == 'running', 'The container does not run')
    require(deployment.run('deploy') == 0, 'A second deployment changes something')
    deployment.run('check')
    deployment.run('validate-config')
    (deployment.overrides / 'placement-worker.conf').write_text('[worker]\nthreads = 4\n')
    deployment.run('reconfigure')
    changed = deployment.containers['placement_worker']
    require(changed['Config']['Env'] != created['Config']['Env'], 'The container is the old one')
    sections = check_options(deployment.written)
    require(sections['worker']['threads'] == ['4'], 'The override is missing')
    check_cordons(deployment)
    require(deployment.run('deploy-containers') == 0, 'The container is not the one to deploy')
    deployment.run('upgrade', placement_worker_tag=UPGRADED)
    upgraded = deployment.containers['placement_worker']
    require(upgraded['Config']['Image'] == f'{IMAGE}:{UPGRADED}', 'The container has the old image')
    deployment.run('stop', '--yes-i-really-really-mean-it')
    stopped = deployment.containers['placement_worker']
    require(stopped['State']['Status'] == 'exited', 'The container still runs')


def check_unit(deployment: Deployment) -> None:
    """Check that kolla-ansible waits for systemd, systemd for the engine, and it for the worker.

    The unit contains the time for which kolla-ansible waits as its StartLimitInterval.
    """
    (unit,) = deployment.units.glob('*.service')
    times = [
        options.GRACEFUL_SHUTDOWN_TIMEOUT_S,
        seconds(unit, r' -t (\d+)\n'),
        seconds(deployment.units / UNIT_FOLDER / 'stop.conf', r'TimeoutStopSec=(\d+)\n'),
        seconds(unit, r'StartLimitInterval=(\d+)\n'),
    ]
    require(sorted(set(times)) == times, f'Wrong order of the timeouts {times}')


def seconds(file: Path, pattern: str) -> int:
    """Return a time that occurs once in a file."""
    found = re.findall(pattern, file.read_text())
    require(len(found) == 1, f'{file} has the times {found} for {pattern}')
    return int(found[0])


def main() -> None:
    """Check the role; a failed check ends with its reason."""
    with tempfile.TemporaryDirectory(prefix='placement-worker-kolla-') as folder:
        deployment = Deployment(Path(folder))
        deployment.lint()
        check_configurations(deployment)
        check_prometheus(deployment)
        check_life(deployment)
        check_unit(deployment)
    version = metadata.version('kolla-ansible')
    sys.stdout.write(
        f'placement-worker: deployed, changed and stopped by kolla-ansible {version}\n'
    )


if __name__ == '__main__':
    main()
