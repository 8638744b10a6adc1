"""What the daemon says when it cannot start; with a broker: tests/functional/test_worker.py."""

import logging
import os
import types

import pytest
from oslo_config import cfg

from placement_worker import config, errors
from placement_worker.worker import process
from tests.config_files import Options

CLOUD = '[cloud]\nbackend = inventory\ninventory_file = cloud.yaml\n'


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        'oslo_log.log.setup', lambda *_: None
    )  # the log and the signals are the tests'
    monkeypatch.setattr('placement_worker.worker.guru_meditation.setup', lambda *_: None)
    (tmp_path / 'cloud.yaml').write_text('zones: {a: true}')


@pytest.fixture
def start(tmp_path, capsys):
    """Start a worker with a configuration, or without any for None; returns exit status and
    errors.
    """

    def started(text):
        arguments = []
        if text is not None:
            (tmp_path / 'w.conf').write_text(text)
            arguments = ['--config-file', 'w.conf']
        return process.run(arguments, Options()), capsys.readouterr().err

    return started


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (
            f'[DEFAULT]\ntransport_uri = rabbit://x/\n{CLOUD}',
            '[DEFAULT] transport_url is not set (read: w.conf)',
        ),
        (
            f'[DEFAULT]\ntransport_url = rabbit://\n{CLOUD}',
            'The transport URL names no broker: expected rabbit://user:password@host:port/ (read: w.conf)',
        ),
        (
            f'{CLOUD}[decision_log]\nfile = /nonexistent/d.jsonl\n',
            '[decision_log] file cannot be written: /nonexistent/d.jsonl: No such file or directory; its folder has '
            'to be there, and the worker has to have the right to write to it (read: w.conf)',
        ),
        (
            CLOUD.replace('cloud.yaml', 'gone.yaml'),
            '[cloud] inventory_file: The cloud cannot be read: gone.yaml: No such file or directory (read: w.conf)',
        ),
        (
            None,
            '[service_auth] auth_type is not set: [cloud] backend = openstack needs a service user (auth_type = '
            'password, auth_url, username, password, ...), or cloud_name (no configuration file was read; '
            '--config-file FILE names one)',
        ),
    ],
)
def test_a_worker_that_cannot_start_names_option_and_file_and_does_not_wait(start, text, message):
    assert start(text) == (2, f'placement-worker: {message}\n')


def test_options_of_a_test_in_a_hostile_home_keep_their_values(
    start, tmp_path, monkeypatch, capsys
):
    """The configuration of the machine that runs the tests changes no result; a worker does read
    it.
    """
    folder = tmp_path / '.placement-worker' / 'placement-worker.conf.d'
    folder.mkdir(parents=True)
    for file in (folder.with_suffix(''), folder / 'more.conf'):
        file.write_text('[worker]\nworkers = hostile\n')
    monkeypatch.setenv('HOME', str(tmp_path))

    for text, message in ((None, 'auth_type is not set'), (CLOUD, 'transport_url is not set')):
        assert message in start(text)[1]
        arguments = ['--config-file', 'w.conf'] if text else []
        assert process.run(arguments, cfg.ConfigOpts()) == 2
        assert 'hostile' in capsys.readouterr().err


def test_a_configuration_that_is_not_there_is_told_with_the_option_that_names_it(capsys):
    assert process.run(['--config-file', 'gone.conf'], Options()) == 2
    assert capsys.readouterr().err == (
        f'placement-worker: {os.path.abspath("gone.conf")}: there is no such file; see what --config-file names\n'
    )


def test_while_no_broker_answers_the_log_says_so_and_when_it_is_tried_again(monkeypatch, caplog):
    conf = Options()
    config.register(conf)
    conf([], default_config_files=[])
    answers = iter([errors.BrokerUnreachable('No broker answered: 127.0.0.1:1: refused')])

    def declare(*_):
        for exc in answers:
            raise exc

    monkeypatch.setattr('placement_worker.messaging.topology.declare', declare)
    monkeypatch.setattr('placement_worker.messaging.topology.consumer_count', lambda *_: 0)
    monkeypatch.setattr('tenacity.nap.time.sleep', lambda _: None)

    with caplog.at_level(logging.WARNING, 'placement_worker.worker.process'):
        process._declare(conf)

    assert caplog.messages == ['No broker answered: 127.0.0.1:1: refused; trying again in 1 s']


def test_options_that_are_read_again_leave_a_line_in_the_log(caplog):
    conf = Options()
    conf([], default_config_files=[])

    with caplog.at_level(logging.INFO, 'placement_worker.worker.process'):
        process.Worker.reload(types.SimpleNamespace(_conf=conf))

    assert caplog.messages == ['The options that may change are read again']
