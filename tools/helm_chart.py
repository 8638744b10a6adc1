"""Render the Helm chart of deploy/helm, and check the manifests against the schemas of Kubernetes.

Needs the packages `helm-python-sdk`, which contains Helm, and `kubernetes-validate`, which contains
the schemas; `tox -e deploy` has both.
"""

import sys
from pathlib import Path
from typing import Any

import helm_python
import kubernetes_validate
import yaml

CHART = Path(__file__).parents[1] / 'deploy' / 'helm' / 'placement-worker'
VERSIONS = ('1.25', '1.37')
"""The oldest version that the chart accepts, and the newest one with schemas."""
MONITOR = 'ServiceMonitor'
KINDS = {'PodDisruptionBudget', 'Service', 'StatefulSet'}
PASSWORD = {
    'name': 'OS_SERVICE_AUTH__PASSWORD',
    'valueFrom': {'secretKeyRef': {'name': 'keystone', 'key': 'password'}},
}
CLAIM = {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '5Gi'}}}
CLAIMS = {'metadata': {'name': 'log'}, 'spec': CLAIM}
VOLUME = {'name': 'plugins', 'emptyDir': {}}
MOUNT = {'name': 'log', 'mountPath': '/var/log/placement-worker'}
VALUES: list[tuple[dict[str, Any], set[str]]] = [
    ({}, KINDS),
    (
        {'metrics': {'serviceMonitor': {'enabled': True, 'labels': {'release': 'prometheus'}}}},
        {*KINDS, MONITOR},
    ),
    (
        {
            'replicas': 1,
            'image': {
                'repository': 'registry.example.org/worker',
                'tag': '1',
                'pullSecrets': ['a'],
            },
            'metrics': {'enabled': False},
            'podAnnotations': {'example.org/a': 'b'},
            'nodeSelector': {'disk': 'ssd'},
            'tolerations': [{'key': 'a', 'operator': 'Exists'}],
            'affinity': {'podAntiAffinity': {}},
            'podDisruptionBudget': {'enabled': False},
            'extraEnv': [PASSWORD],
            'volumeClaimTemplates': [CLAIMS],
            'extraVolumes': [VOLUME],
            'extraVolumeMounts': [MOUNT, {'name': 'plugins', 'mountPath': '/plugins'}],
            'priorityClassName': 'high',
            'cordonConfigMap': 'closed-zones',
        },
        {'Service', 'StatefulSet'},
    ),
]
"""Sets of values, and the kinds of their manifests."""
INVALID: list[dict[str, Any]] = [
    {'replicas': 0},
    {'configSecret': ''},
    {'cordonConfigMap': 'Closed zones'},
    {'replica': 2},
    {'metrics': {'serviceMonitor': {'interval': '15'}}},
    {'podDisruptionBudget': {'maxUnavailable': 0}},
    {'extraEnv': [{'value': 'a'}]},
    {'volumeClaimTemplates': [{'spec': CLAIM}]},
    {'volumeClaimTemplates': [{'metadata': {'name': 'tmp'}, 'spec': CLAIM}]},
    {'extraVolumes': [{'emptyDir': {}}]},
    {'extraVolumes': [{'name': 'tmp', 'emptyDir': {}}]},
    {'extraVolumeMounts': [{'name': 'log'}]},
    {'extraVolumeMounts': [{'name': 'log', 'mountPath': 'var/log'}]},
    {'extraVolumeMounts': [{'name': 'log', 'mountPath': '/run/placement-worker'}]},
]


def main() -> None:
    """Check all sets of values; a failed check ends with its reason."""
    with helm_python.Chart.load(str(CHART)) as chart:
        for values, kinds in VALUES:
            check(chart, values, kinds)
        for values in INVALID:
            refuse(chart, values)
    sys.stdout.write(f'{CHART.name}: {len(VALUES)} sets of values rendered and checked\n')


def check(chart: Any, values: dict[str, Any], kinds: set[str]) -> None:
    """Render the chart with these values, and check each manifest."""
    chart.validate_schema(values)
    rendered = chart.render(values, name='demo', namespace='openstack')
    manifests = [one for text in rendered.values() for one in yaml.safe_load_all(text) if one]
    if {one['kind'] for one in manifests} != kinds:
        raise SystemExit(f'{values}: the chart has {rendered}')
    for version in VERSIONS:
        for manifest in manifests:
            if manifest['kind'] != MONITOR:
                kubernetes_validate.validate(manifest, version, strict=True)
    by_kind = {one['kind']: one for one in manifests}
    check_selectors(values, by_kind)
    workers = by_kind['StatefulSet']['spec']
    pod = workers['template']['spec']
    check_environment(values, pod)
    check_volumes(values, pod, workers.get('volumeClaimTemplates', []))
    check_cordons(values, pod)


def check_selectors(values: dict[str, Any], manifests: dict[str, Any]) -> None:
    """Check that the manifests of a release belong together."""
    workers, service = manifests['StatefulSet']['spec'], manifests['Service']
    labels = workers['template']['metadata']['labels']
    budget = manifests.get('PodDisruptionBudget', {}).get('spec', workers)
    (spread,) = workers['template']['spec']['topologySpreadConstraints']
    if not all(
        selector.items() <= labels.items()
        for selector in (
            service['spec']['selector'],
            *(one['selector']['matchLabels'] for one in (workers, budget)),
            spread['labelSelector']['matchLabels'],
        )
    ):
        raise SystemExit(f'{values}: the manifests do not select the workers')
    if workers['serviceName'] != service['metadata']['name']:
        raise SystemExit(f'{values}: the workers have another service')
    if MONITOR in manifests:
        check_monitor(values, manifests[MONITOR], service)


def check_environment(values: dict[str, Any], pod: dict[str, Any]) -> None:
    """Check that the container has the variables of the values, and those of its metrics."""
    (container,) = pod['containers']
    variables = container.get('env', [])
    has_metrics = 'OS_METRICS__PORT' in {variable['name'] for variable in variables}
    if has_metrics != values.get('metrics', {}).get('enabled', True) or any(
        variable not in variables for variable in values.get('extraEnv', [])
    ):
        raise SystemExit(f'{values}: the container has the variables {variables}')


def check_volumes(values: dict[str, Any], pod: dict[str, Any], claims: list[Any]) -> None:
    """Check that the pod has the volumes and claims of the values, and one for each mount."""
    (container,) = pod['containers']
    mounts, volumes = container['volumeMounts'], pod['volumes']
    if (
        any(volume not in volumes for volume in values.get('extraVolumes', []))
        or any(mount not in mounts for mount in values.get('extraVolumeMounts', []))
        or any(claim not in claims for claim in values.get('volumeClaimTemplates', []))
        or {mount['name'] for mount in mounts}
        != {*(volume['name'] for volume in volumes), *(one['metadata']['name'] for one in claims)}
    ):
        raise SystemExit(f'{values}: the pod has the volumes {volumes} and {claims} at {mounts}')


def check_cordons(values: dict[str, Any], pod: dict[str, Any]) -> None:
    """Check that the worker reads its cordons from the folder of the ConfigMap."""
    (container,) = pod['containers']
    variables = {one['name']: one.get('value') for one in container.get('env', [])}
    folders = [one['mountPath'] for one in container['volumeMounts'] if one['name'] == 'cordons']
    maps = [one['configMap']['name'] for one in pod['volumes'] if one['name'] == 'cordons']
    name = values.get('cordonConfigMap')
    found = (variables.get('OS_PLACEMENT__CORDON_FILE'), maps)
    if found != ((f'{folders[0]}/cordons.yaml', [name]) if name else (None, [])):
        raise SystemExit(f'{values}: the worker has the cordons {found} at {folders}')


def check_monitor(values: dict[str, Any], monitor: dict[str, Any], service: dict[str, Any]) -> None:
    """Check the monitor, whose schema is not part of Kubernetes: what it reads has to exist."""
    spec, labels = monitor['spec'], service['metadata']['labels']
    (endpoint,) = spec['endpoints']
    if (
        not spec['selector']['matchLabels'].items() <= labels.items()
        or labels[spec['jobLabel']] != 'placement-worker'
        or endpoint['port'] not in {port['name'] for port in service['spec']['ports']}
        or not values['metrics']['serviceMonitor']['labels'].items()
        <= monitor['metadata']['labels'].items()
    ):
        raise SystemExit(f'{values}: the monitor does not find the service')


def refuse(chart: Any, values: dict[str, Any]) -> None:
    """Exit if the schema of the values accepts wrong ones."""
    try:
        chart.validate_schema(values)
    except helm_python.HelmError:
        return
    raise SystemExit(f'values.schema.json accepts {values}')


if __name__ == '__main__':
    main()
