"""The property `on_shortage` of the placement policies."""

import datetime

import pytest

from placement_worker.contract.model import Spec
from placement_worker.errors import InvalidSpec
from placement_worker.planning.shortage import Backoff
from placement_worker.policies.places import OnShortage

AT = '$.properties.on_shortage'
KINDS = pytest.mark.parametrize('kind', ['zone', 'region'])


def spec(kind, version='1.1', **properties):
    """Return a spec of a placement policy with one place."""
    properties = {f'{kind}s': [{'name': 'a'}], **properties}
    return Spec(f'senlin.policy.{kind}_placement', version, properties)


@KINDS
@pytest.mark.parametrize(
    ('given', 'expected'),
    [
        ({}, OnShortage('redistribute', 300, 3600)),
        ({'on_shortage': {}}, OnShortage('redistribute', 300, 3600)),
        ({'on_shortage': {'mode': 'ignore'}}, OnShortage('ignore', 300, 3600)),
        ({'on_shortage': {'initial_s': '60', 'max_s': 60}}, OnShortage('redistribute', 60, 60)),
    ],
)
def test_on_shortage_has_defaults_for_absent_keys(registry, kind, given, expected):
    """Without a choice shortages redistribute nodes, with delays from five minutes to one hour."""
    assert registry.policy(spec(kind, **given), '$').properties.on_shortage == expected


@KINDS
@pytest.mark.parametrize(
    ('given', 'message'),
    [
        ({'initial_s': -1}, f'Expected `int` >= 1, got `-1` - at `{AT}.initial_s`'),
        ({'max_s': 299}, f'Expected `max_s` >= `initial_s`, got `299` < `300` - at `{AT}`'),
        ('ignore', f'Expected `object`, got `str` - at `{AT}`'),
    ],
)
def test_malformed_on_shortage_is_refused_with_its_path(registry, kind, given, message):
    """Delays out of bounds, or in the wrong order, are refused where they stand."""
    with pytest.raises(InvalidSpec) as refused:
        registry.policy(spec(kind, on_shortage=given), '$')

    assert str(refused.value) == message


@KINDS
@pytest.mark.parametrize(
    ('version', 'given', 'expected'),
    [
        ('1.0', {}, None),
        ('1.1', {}, Backoff(300, 3600)),
        ('1.1', {'on_shortage': {'mode': 'ignore'}}, None),
    ],
)
def test_backoff_is_that_of_version_1_1_unless_it_is_ignored(
    registry, kind, version, given, expected
):
    """Version 1.0 and the mode `ignore` never redistribute nodes."""
    assert registry.policy(spec(kind, version, **given), '$').backoff == expected


def test_backoff_doubles_up_to_its_maximum():
    """The planner waits as long as the spec says."""
    backoff = Backoff(60, 90)

    assert backoff.after(1) == datetime.timedelta(seconds=60)
    assert backoff.after(2) == datetime.timedelta(seconds=90)
