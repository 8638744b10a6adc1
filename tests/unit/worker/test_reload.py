"""SIGHUP: what a worker takes over from its files, and what it makes of files that are faulty."""

import logging

import pytest
from oslo_config import cfg
from oslo_log import log

from placement_worker import config
from placement_worker.worker import process


@pytest.fixture
def file(tmp_path):
    file = tmp_path / 'worker.conf'
    file.write_text('[worker]\nmax_nodes_per_cluster = 7\nmax_request_bytes = 2048\n')
    return file


@pytest.fixture
def conf(file):
    config.set_defaults()
    conf = cfg.ConfigOpts()
    config.register(conf)
    log.register_options(conf)
    conf(['--config-file', str(file)])
    return conf


def test_options_that_may_change_are_taken_over_from_a_file_that_is_as_it_should_be(conf, file):
    file.write_text('[worker]\nmax_nodes_per_cluster = 9\n')

    process.read_again(conf)

    assert conf.worker.max_nodes_per_cluster == 9


@pytest.mark.parametrize(
    ('text', 'told'),
    [
        ('garbage\n', 'worker.conf'),
        ('[worker]\nmax_nodes_per_cluster = 0\n', 'max_nodes_per_cluster'),
        ('[worker]\nmax_request_bytes = abc\n', 'max_request_bytes'),
        ('[DEFAULT]\ndebug = perhaps\n', 'debug'),
        ('[DEFAULT]\ngraceful_shutdown_timeout = soon\n', 'graceful_shutdown_timeout'),
        ('[DEFAULT]\ngraceful_shutdown_timeout = 1\n', 'has to be less than'),
        ('\udcff', "codec can't decode byte 0xff"),
        (None, 'worker.conf'),
    ],
)
def test_a_faulty_file_changes_nothing_and_is_told_of_in_one_line(text, told, conf, file, caplog):
    if text is None:
        file.unlink()
    else:
        file.write_text(text, errors='surrogateescape')

    process.read_again(conf)

    assert (conf.worker.max_nodes_per_cluster, conf.worker.max_request_bytes, conf.debug) == (
        7,
        2048,
        False,
    )
    (record,) = [record for record in caplog.records if record.name == process.LOG.name]
    assert record.getMessage().startswith('The configuration stays as it was: ')
    assert told in record.getMessage()
    assert '\n' not in record.getMessage()
    assert record.exc_info is None


def test_handlers_of_a_logging_configuration_that_is_read_again_escape(conf, file, tmp_path):
    """Handlers of a changed logging configuration also write one line per record."""
    file.write_text(f'[DEFAULT]\nlog_config_append = {tmp_path / "logging.conf"}\n')
    (tmp_path / 'logging.conf').write_text(
        '[loggers]\nkeys = root,own\n[handlers]\nkeys = file\n[formatters]\nkeys = plain\n'
        '[logger_root]\nhandlers =\n[logger_own]\nqualname = test_reloading\nhandlers = file\n'
        f'[handler_file]\nclass = FileHandler\nargs = ("{tmp_path / "log"}",)\nformatter = plain\n'
        '[formatter_plain]\nformat = %(message)s\n'
    )
    handlers = logging.root.handlers

    try:
        process.read_again(conf)
        logging.getLogger('test_reloading').error('a\nb')
        for handler in logging.getLogger('test_reloading').handlers:
            handler.close()
    finally:
        logging.root.handlers = handlers
        logging.getLogger('test_reloading').handlers = []

    assert (tmp_path / 'log').read_text() == 'a\\nb\n'
