"""Configurations that a worker does not start with: one line, and status 2."""

import pytest

from placement_worker.worker import process
from tests.config_files import Options


@pytest.fixture
def start(tmp_path, capsys):
    """Start a worker with a configuration that it does not start with; gives its status and its
    words.
    """

    def run(text):
        file = tmp_path / 'worker.conf'
        file.write_text(text)
        status = process.run(['--config-file', str(file)], Options())
        return status, capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ('text', 'told'),
    [
        ('[worker]\ntopic =\n', '[worker] topic is empty'),
        ('[worker]\nslow_topic =\n', '[worker] slow_topic is empty'),
        (
            '[worker]\ntopic = t\nslow_topic = t\n',
            '[worker] topic and slow_topic have to differ, both are t',
        ),
        (
            '[worker]\nslow_topic = placement-worker-suspects\n',
            '[worker] slow_topic = placement-worker-suspects is a queue for what is put aside',
        ),
        (
            '[worker]\ntopic = t\nslow_topic = t-parked\n',
            '[worker] slow_topic = t-parked is a queue for what is put aside',
        ),
        (
            '[DEFAULT]\nlog_config_append = /nofile\n',
            'The log cannot be set up: Error loading logging config /nofile',
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_line(text, told, start):
    status, line = start(text)

    assert status == 2
    assert line.startswith(f'placement-worker: {told}')
    assert line.count('\n') == 1


@pytest.mark.parametrize('args', ['(', 'nothing', '(sys.nothing,)'])
def test_a_file_for_the_log_that_python_cannot_read_is_told_in_one_line(args, start, tmp_path):
    logging = tmp_path / 'logging.conf'
    logging.write_text(
        '[loggers]\nkeys = root\n[handlers]\nkeys = one\n[formatters]\nkeys =\n[logger_root]\nhandlers = one\n'
        f'[handler_one]\nclass = StreamHandler\nargs = {args}\n'
    )

    status, line = start(f'[DEFAULT]\nlog_config_append = {logging}\n')

    assert status == 2
    assert line.startswith('placement-worker: The log cannot be set up: ')
    assert line.count('\n') == 1
