"""The properties of the placement policies before version 1.1."""

import pytest

from placement_worker.contract.model import Spec
from placement_worker.errors import InvalidSpec


@pytest.mark.parametrize('kind', ['zone', 'region'])
@pytest.mark.parametrize('name', ['spread', 'on_shortage'])
def test_property_before_its_version_is_refused(registry, kind, name):
    """Version 1.0 refuses the property as unknown."""
    policy, places = f'senlin.policy.{kind}_placement', {f'{kind}s': [{'name': 'a'}]}

    with pytest.raises(InvalidSpec, match=f'unknown field `{name}`'):
        registry.policy(Spec(policy, '1.0', {**places, name: {}}), '$')
