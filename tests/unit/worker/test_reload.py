"""The reload of options on SIGHUP."""

import logging
from unittest.mock import Mock

import pytest
from oslo_config import cfg
from oslo_log import log
from oslo_log._options import list_opts

from placement_worker.config import options
from placement_worker.worker import reload
from tests.config_files import Options

DEFAULT_BYTES = next(one.default for one in options.WORKER if one.name == 'max_request_bytes')


@pytest.fixture
def file(tmp_path):
    file = tmp_path / 'worker.conf'
    file.write_text('[worker]\nmax_nodes_per_cluster = 7\nmax_request_bytes = 2048\n')
    return file


@pytest.fixture
def conf(file):
    options.set_defaults()
    conf = cfg.ConfigOpts()
    options.register(conf)
    log.register_options(conf)
    conf(['--config-file', str(file)])
    return conf


@pytest.fixture
def messages(caplog):
    """Return the lines that a reload adds to the log at INFO."""
    caplog.set_level(logging.INFO)
    return lambda: [text for name, _, text in caplog.record_tuples if name == reload.LOG.name]


@pytest.mark.parametrize(
    'reload_options',
    [reload.reload, lambda conf: reload.ReloadableConfig(conf).mutate_config_files()],
    ids=['process', 'parent'],
)
def test_reload_of_a_valid_file_applies_the_mutable_options(conf, file, messages, reload_options):
    """An operator changes limits without a restart, in the processes and in their parent."""
    file.write_text('[worker]\nmax_nodes_per_cluster = 9\n')

    reload_options(conf)

    assert conf.worker.max_nodes_per_cluster == 9
    assert messages() == [
        'Reloaded the mutable options; changed options: [worker] max_nodes_per_cluster = 9, '
        f'[worker] max_request_bytes = {DEFAULT_BYTES}'
    ]


def test_reload_in_a_process_logs_no_change_that_its_parent_logs(conf, file, caplog):
    """A reload adds one line to the log per change, however many processes the worker has."""
    caplog.set_level(logging.INFO)
    file.write_text('[worker]\nmax_nodes_per_cluster = 9\nthreads = 3\n')
    reload.reload(conf, logs_changes=False)
    assert caplog.messages == []

    file.write_text('[worker]\nmax_nodes_per_cluster = 5\nthreads = 4\n')
    reload.reload(conf)

    assert caplog.messages[-1].startswith('Reloaded the mutable options; changed options: ')
    assert 'Ignoring change to immutable option worker.threads' in caplog.messages


def test_mutable_options_are_not_secret():
    """The log shows the new values of changed options, so none of them may be a secret."""
    declared = [*options.GROUPS.items(), *list_opts()]

    mutable = [option for _, listed in declared for option in listed if option.mutable]

    assert len(mutable) >= 3
    assert not any(option.secret for option in mutable)


def test_reload_while_a_request_reads_an_option_applies_the_new_value(conf, file, monkeypatch):
    """A request that reads an option during a reload does not keep its old value alive."""
    read_files = conf._reload_config_files

    def read_option_meanwhile():
        read = read_files()
        assert conf.worker.max_nodes_per_cluster == 7
        return read

    monkeypatch.setattr(conf, '_reload_config_files', read_option_meanwhile)
    file.write_text('[worker]\nmax_nodes_per_cluster = 9\n')

    reload.reload(conf)

    assert conf.worker.max_nodes_per_cluster == 9


@pytest.mark.parametrize(
    ('text', 'cause'),
    [
        ('garbage\n', 'worker.conf'),
        ('[worker]\nmax_nodes_per_cluster = 0\n', 'max_nodes_per_cluster'),
        ('[worker]\nmax_request_bytes = abc\n', 'max_request_bytes'),
        ('[DEFAULT]\ndebug = perhaps\n', 'debug'),
        ('[DEFAULT]\ngraceful_shutdown_timeout = soon\n', 'graceful_shutdown_timeout'),
        ('[DEFAULT]\ngraceful_shutdown_timeout = 1\n', 'must be less than'),
        ('\udcff', 'worker.conf is not UTF-8 text: '),
        (None, 'worker.conf'),
    ],
)
def test_reload_of_an_invalid_file_changes_nothing_and_logs_one_line(
    text, cause, conf, file, messages
):
    """A file that the worker would not start with does not disturb a running worker."""
    if text is None:
        file.unlink()
    else:
        file.write_text(text, errors='surrogateescape')

    reload.reload(conf)

    kept = (conf.worker.max_nodes_per_cluster, conf.worker.max_request_bytes, conf.debug)
    assert kept == (7, 2048, False)
    (message,) = messages()
    assert message.startswith('Kept the current configuration: ')
    assert cause in message
    assert '\n' not in message


@pytest.mark.parametrize(
    ('result', 'message'),
    [
        # Options that are declared with hyphens have underscores in the manual.
        ({'return_value': [(None, 'log-config-append')]},
         'Reloaded the mutable options; changed options: [DEFAULT] log_config_append = None'),
        ({'side_effect': RuntimeError('no section formatters')},
         'Reloaded the mutable options, but not those of the log: no section formatters'),
    ],
    ids=['hyphens', 'malformed logging configuration'],
)  # fmt: skip
def test_reload_logs_the_result_of_oslo_config(conf, messages, monkeypatch, result, message):
    """Changed options have their names of the manual, and a mistake does not end the process."""
    monkeypatch.setattr(conf, 'mutate_config_files', Mock(**result))

    reload.reload(conf)

    assert messages() == [message]


@pytest.fixture
def logging_file(tmp_path, conf, file):
    """The logging configuration of a worker that has started: root writes to `log`."""
    path = tmp_path / 'logging.conf'
    file.write_text(f'[DEFAULT]\nlog_config_append = {path}\n')
    path.write_text(
        '[loggers]\nkeys = root\n[handlers]\nkeys = file\n[formatters]\nkeys = plain\n'
        '[logger_root]\nlevel = INFO\nhandlers = file\n[handler_file]\nclass = FileHandler\n'
        f'args = ("{tmp_path / "log"}",)\nformatter = plain\n'
        '[formatter_plain]\nformat = %(levelname)s %(message)s\n'
    )
    previous = logging.root.handlers, logging.root.level
    reload.reload(conf)
    (tmp_path / 'log').write_text('')
    created = list(logging.root.handlers)
    yield path
    for handler in {*created, *logging.root.handlers}:
        handler.close()
    logging.root.handlers, logging.root.level = previous


def test_reload_of_a_wrong_logging_file_keeps_the_log(conf, logging_file, tmp_path):
    """A mistake in the file of log_config_append does not silence a running worker."""
    right = logging_file.read_text()
    logging_file.write_text(right.replace('FileHandler', 'NoSuchHandler'))

    reload.reload(conf)
    logging.getLogger('test_reload').info('still there')

    assert (tmp_path / 'log').read_text().splitlines() == [
        'ERROR Kept the current configuration: Cannot set up the log: '
        f"{logging_file}, section [handler_file]: No module named 'NoSuchHandler'",
        'INFO still there',
    ]


def test_reload_of_a_right_logging_file_names_it_and_escapes_its_records(
    conf, logging_file, tmp_path
):
    """Handlers of a changed file write one line per record, too; no option need change."""
    right = logging_file.read_text()
    logging_file.write_text(right.replace('level = INFO', 'level = DEBUG'))

    reload.reload(conf)
    logging.getLogger('test_reload').debug('a\nb')

    assert (tmp_path / 'log').read_text() == (
        f'INFO Reloaded the mutable options and {logging_file}; changed options: none\n'
        'DEBUG a\\nb\n'
    )


def test_reload_with_the_logging_file_as_an_argument_checks_that_file(tmp_path, messages):
    """The file of --log-config-append is read by a reload, too."""
    path = tmp_path / 'logging.conf'
    options.set_defaults()
    conf = Options()
    options.register(conf)
    log.register_options(conf)
    conf(['--log-config-append', str(path)])

    reload.reload(conf)

    assert messages() == [
        f'Kept the current configuration: Cannot set up the log: {path}: No such file or directory'
    ]


def test_reloadable_config_in_another_process_reloads_nothing(conf):
    """cotyledon finds the options, and a process, which reloads by itself, reports errors once."""
    reloadable = reload.ReloadableConfig(conf)
    reloadable._parent += 1
    conf.mutate_config_files = Mock()

    reloadable.mutate_config_files()

    assert reloadable.worker.max_nodes_per_cluster == 7
    assert conf.mutate_config_files.mock_calls == []
