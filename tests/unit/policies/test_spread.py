"""The property `spread` of the placement policies."""

import pytest

from placement_worker.contract.model import Spec
from placement_worker.errors import InvalidSpec
from placement_worker.policies.spread import Spread

AT = '$.properties.spread'
KINDS = pytest.mark.parametrize('kind', ['zone', 'region'])


def spec(kind, **properties):
    """Return a spec of a placement policy with one place."""
    return Spec(
        f'senlin.policy.{kind}_placement', '1.1', {f'{kind}s': [{'name': 'a'}], **properties}
    )


@KINDS
@pytest.mark.parametrize(
    ('given', 'spread'),
    [
        ({}, Spread('best_effort', 1)),
        ({'spread': {}}, Spread('best_effort', 1)),
        ({'spread': {'mode': 'strict'}}, Spread('strict', 1)),
        ({'spread': {'max_skew': '3'}}, Spread('best_effort', 3)),
    ],
)
def test_spread_has_defaults_for_absent_keys(registry, kind, given, spread):
    """Without a choice the mode is best effort and the allowed skew is one node."""
    assert registry.policy(spec(kind, **given), '$').properties.spread == spread


@KINDS
@pytest.mark.parametrize(
    ('given', 'message'),
    [
        (
            {'mode': 'loose'},
            f'Expected one of `best_effort`, `strict`, got `loose` - at `{AT}.mode`',
        ),
        ({'max_skew': 0}, f'Expected `int` >= 1, got `0` - at `{AT}.max_skew`'),
        ({'max_skew': 0.5}, f'Expected `int` >= 1, got `0` - at `{AT}.max_skew`'),
        ({'max_skew': 'many'}, f'Expected `int`, got `str` - at `{AT}.max_skew`'),
        (
            {'skew': 2},
            f'Object contains unknown field `skew`, expected one of `mode`, `max_skew` - at `{AT}`',
        ),
        ('strict', f'Expected `object`, got `str` - at `{AT}`'),
    ],
)
def test_malformed_spread_is_refused_with_its_path(registry, kind, given, message):
    """A mode, a skew or a key that does not exist is refused where it stands."""
    with pytest.raises(InvalidSpec) as refused:
        registry.policy(spec(kind, spread=given), '$')

    assert str(refused.value) == message
