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
KINDS = {'Service', 'StatefulSet'}
VALUES: list[dict[str, Any]] = [
    {},
    {
        'replicas': 1,
        'image': {'repository': 'registry.example.org/worker', 'tag': '1', 'pullSecrets': ['a']},
        'metrics': {'enabled': False},
        'podAnnotations': {'example.org/a': 'b'},
        'nodeSelector': {'disk': 'ssd'},
        'tolerations': [{'key': 'a', 'operator': 'Exists'}],
        'affinity': {'podAntiAffinity': {}},
    },
]
INVALID: list[dict[str, Any]] = [{'replicas': 0}, {'configSecret': ''}, {'replica': 2}]


def main() -> None:
    """Check all sets of values; a failed check ends with its reason."""
    with helm_python.Chart.load(str(CHART)) as chart:
        for values in VALUES:
            check(chart, values)
        for values in INVALID:
            refuse(chart, values)
    sys.stdout.write(f'{CHART.name}: {len(VALUES)} sets of values rendered and checked\n')


def check(chart: Any, values: dict[str, Any]) -> None:
    """Render the chart with these values, and check each manifest."""
    chart.validate_schema(values)
    rendered = chart.render(values, name='demo', namespace='openstack')
    manifests = [one for text in rendered.values() for one in yaml.safe_load_all(text) if one]
    if {one['kind'] for one in manifests} != KINDS:
        raise SystemExit(f'{values}: the chart has {rendered}')
    for version in VERSIONS:
        for manifest in manifests:
            kubernetes_validate.validate(manifest, version, strict=True)
    (workers,) = (one['spec'] for one in manifests if one['kind'] == 'StatefulSet')
    (service,) = (one for one in manifests if one['kind'] == 'Service')
    labels = workers['template']['metadata']['labels']
    if (
        not service['spec']['selector'].items() <= labels.items()
        or not workers['selector']['matchLabels'].items() <= labels.items()
        or workers['serviceName'] != service['metadata']['name']
    ):
        raise SystemExit(f'{values}: the service does not select the workers')


def refuse(chart: Any, values: dict[str, Any]) -> None:
    """Exit if the schema of the values accepts wrong ones."""
    try:
        chart.validate_schema(values)
    except helm_python.HelmError:
        return
    raise SystemExit(f'values.schema.json accepts {values}')


if __name__ == '__main__':
    main()
