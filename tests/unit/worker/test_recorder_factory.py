"""The recorder of decisions that the configuration names."""

import json

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.decisions.records import DecisionLog
from placement_worker.errors import ConfigurationError
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.registry import Registry
from placement_worker.worker import recorder_factory
from tests.config_files import default_options
from tests.factories import request


@pytest.fixture
def conf():
    return default_options()


def test_create_without_a_file_returns_none(conf):
    """By default the worker records no decisions."""
    assert recorder_factory.create(conf) is None


def test_create_with_a_file_returns_a_decision_log_and_creates_the_file(conf, tmp_path):
    """A file that cannot be written is found at the start, not by the first decision."""
    file = tmp_path / 'decisions.jsonl'
    conf.set_override('file', str(file), group='decision_log')

    assert isinstance(recorder_factory.create(conf), DecisionLog)
    assert file.exists()


def test_created_decision_log_records_the_host_of_the_worker(conf, tmp_path):
    """Each line names the worker that decided, also after logs were collected."""
    file = tmp_path / 'decisions.jsonl'
    conf.set_override('file', str(file), group='decision_log')
    conf.set_override('host', 'node1', group='worker')
    endpoints = Endpoints(Inventory(), Registry.installed(), recorder=recorder_factory.create(conf))

    endpoints.policy_check(request('CLUSTER_SCALE_OUT', []), 'req-1')

    assert json.loads(file.read_text())['host'] == 'node1'


def test_create_with_a_file_in_a_missing_folder_raises_an_error_with_the_remedy(conf, tmp_path):
    """The error names the option, the file, the cause and what to do."""
    file = tmp_path / 'none' / 'decisions.jsonl'
    conf.set_override('file', str(file), group='decision_log')

    with pytest.raises(ConfigurationError) as raised:
        recorder_factory.create(conf)

    assert str(raised.value) == (
        f'Cannot write [decision_log] file: {file}: No such file or directory; create its folder '
        'and let the user of the worker write to it'
    )
