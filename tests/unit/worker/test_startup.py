"""The start of the worker with configurations that cannot work."""

import logging

import pytest
from oslo_config import cfg

from placement_worker.errors import ConfigurationError
from placement_worker.worker import startup
from tests.config_files import Options


@pytest.fixture
def failure(tmp_path, monkeypatch):
    """Configure the worker with a text that cannot work and return the described error."""
    monkeypatch.setattr(logging.root, 'handlers', [])

    def configure(text):
        file = tmp_path / 'worker.conf'
        file.write_text(text)
        with pytest.raises(startup.STARTUP_ERRORS) as raised:
            startup.configure(Options(), ['--config-file', str(file)])
        return startup.describe_error(raised.value)

    return configure


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('[worker]\ntopic =\n', '[worker] topic is empty'),
        ('[worker]\nslow_topic =\n', '[worker] slow_topic is empty'),
        (
            '[worker]\ntopic = t\nslow_topic = t\n',
            '[worker] topic and slow_topic must differ, both are t',
        ),
        (
            '[worker]\nslow_topic = placement-worker-suspects\n',
            '[worker] slow_topic = placement-worker-suspects is the isolation queue or the parking '
            'lot of [worker] topic',
        ),
        (
            '[worker]\ntopic = t\nslow_topic = t-parked\n',
            '[worker] slow_topic = t-parked is the isolation queue or the parking lot of [worker] '
            'topic',
        ),
        (
            '[DEFAULT]\nlog_config_append = /nofile\n',
            'Cannot set up the log: /nofile: No such file or directory',
        ),
        ('[DEFAULT]\ndebug = maybe\n', 'Value for option [DEFAULT] debug from '),
        ('[DEFAULT]\nuse_syslog = maybe\n', 'Value for option [DEFAULT] use_syslog from '),
    ],
)
def test_configure_with_options_that_cannot_work_raises_an_error_that_names_them(
    failure, text, message
):
    """A worker that cannot start reports the option and its value."""
    assert failure(text).startswith(message)


def test_configure_with_an_invalid_debug_in_a_folder_names_file_and_value(tmp_path):
    """The values of a folder's files are checked like those of a single file."""
    file = tmp_path / 'log.conf'
    file.write_text('[DEFAULT]\ndebug = maybe\n')

    with pytest.raises(startup.STARTUP_ERRORS) as raised:
        startup.configure(Options(), [f'--config-dir={tmp_path}', '--nodebug'])

    assert startup.describe_error(raised.value) == (
        f'Value for option [DEFAULT] debug from {file} is not valid: Unexpected boolean value '
        "'maybe'"
    )


def test_configure_with_an_ambiguous_abbreviation_leaves_the_report_to_oslo_config(capsys):
    """The usage of the whole program is printed, with exit status 2."""
    with pytest.raises(SystemExit) as raised:
        startup.configure(Options(), ['--conf', 'file'])

    assert raised.value.code == 2
    assert '--log-file' in capsys.readouterr().err


def test_configure_with_a_misspelt_option_names_the_option_that_is_meant():
    """A wrong option is reported in one line, not after the usage of the whole program."""
    with pytest.raises(startup.STARTUP_ERRORS) as raised:
        startup.configure(Options(), ['--conf-file', 'worker.conf'])

    assert startup.describe_error(raised.value) == (
        'Unknown option --conf-file (did you mean --config-file?); run "placement-worker --help" '
        'for the usage'
    )


@pytest.mark.parametrize('args', ['(', 'nothing', '(sys.nothing,)'])
def test_configure_with_a_malformed_logging_configuration_raises_an_error_of_one_line(
    failure, tmp_path, args
):
    """The worker reports one line for any error that Python raises for the file."""
    file = tmp_path / 'logging.conf'
    file.write_text(
        '[loggers]\nkeys = root\n[handlers]\nkeys = one\n[formatters]\nkeys =\n'
        '[logger_root]\nhandlers = one\n'
        f'[handler_one]\nclass = StreamHandler\nargs = {args}\n'
    )

    message = failure(f'[DEFAULT]\nlog_config_append = {file}\n')

    assert message.startswith(f'Cannot set up the log: {file}, section [handler_one]: ')
    assert '\n' not in message


def test_configure_with_an_unreadable_log_file_raises_the_error_of_the_system(failure, tmp_path):
    """A log file in a missing folder is reported with its path."""
    message = failure(f'[DEFAULT]\nlog_file = {tmp_path}/none/worker.log\n')

    assert message == f'{tmp_path}/none/worker.log: No such file or directory'


@pytest.mark.parametrize(
    ('exc', 'text'),
    [
        (FileNotFoundError(2, 'No such file', 'a.conf'), 'a.conf: No such file'),
        (cfg.Error('one\n  two\x1b'), r'one two\u001b'),
    ],
)
def test_describe_error_returns_one_printable_line(exc, text):
    """Texts of errors neither break lines nor control the terminal."""
    assert startup.describe_error(exc) == text


@pytest.mark.parametrize(
    ('exc', 'line'),
    [
        (
            ConfigurationError('[worker] topic is empty'),
            'placement-worker: [worker] topic is empty (no configuration file was read; '
            '--config-file FILE names one)\n',
        ),
        (
            FileNotFoundError(2, 'No such file', 'a.conf'),
            'placement-worker: a.conf: No such file\n',
        ),
    ],
    ids=['configuration', 'system'],
)
def test_report_failure_prints_one_line_and_the_files_of_a_configuration_error(exc, line, capsys):
    """A configuration error names the files to correct; an error of the system names its own."""
    conf = Options()
    conf([])

    startup.report_failure(conf, exc)

    assert capsys.readouterr() == ('', line)
