"""The place of a cordon, compared with the embedded cloud of a configuration."""

import datetime
import json

import pytest
from oslo_config import cfg

from placement_worker.cmd import cordon_places
from placement_worker.config import options
from placement_worker.planning.cordon import Cordon

UNTIL = datetime.datetime(2999, 1, 1, tzinfo=datetime.UTC)
REGIONS = {'regions': {'R1': {'zones': {'az1': True}}, 'R2': {'zones': {'az2': True}}}}


@pytest.fixture
def sentence(tmp_path):
    """Return a function that checks a place against a cloud."""

    def checked(cloud, **place):
        conf = cfg.ConfigOpts()
        options.register(conf)
        conf([], default_config_files=[])
        if cloud is not None:
            file = tmp_path / 'cloud.yaml'
            file.write_text(cloud if isinstance(cloud, str) else json.dumps(cloud))
            conf.set_override('backend', 'inventory', group='cloud')
            conf.set_override('inventory_file', str(file), group='cloud')
        return cordon_places.unknown(Cordon(until=UNTIL, **place), conf)

    return checked


@pytest.mark.parametrize(
    ('cloud', 'place'),
    [
        ({'zones': {'az1': False}}, {'zone': 'az1'}),
        (REGIONS, {'zone': 'az2'}),
        (REGIONS, {'zone': 'az2', 'region': 'R2'}),
        (REGIONS, {'region': 'R1'}),
        ('- no cloud', {'zone': 'az9'}),
        (None, {'zone': 'az9'}),
    ],
)
def test_known_place_and_cloud_that_cannot_be_asked_have_no_sentence(cloud, place, sentence):
    """Only a place that the embedded cloud certainly lacks is reported."""
    assert sentence(cloud, **place) is None


@pytest.mark.parametrize(
    ('cloud', 'place', 'text'),
    [
        (
            {'zones': {'az1': True, 'az2': True}},
            {'zone': 'azz1'},
            'The cordon of zone azz1 has no effect (did you mean az1?); the zones of [cloud] '
            'inventory_file are az1, az2',
        ),
        (
            REGIONS,
            {'zone': 'az2', 'region': 'R1'},
            'The cordon of zone az2 of region R1 has no effect (did you mean az1?); the zones of '
            '[cloud] inventory_file are az1',
        ),
        (
            REGIONS,
            {'region': 'north'},
            'The cordon of region north has no effect; the regions of [cloud] inventory_file are '
            'R1, R2',
        ),
    ],
)
def test_unknown_place_is_named_with_those_of_the_cloud(cloud, place, text, sentence):
    """A misspelled place is visible when the cordon is added, not at the next check."""
    assert sentence(cloud, **place) == text
