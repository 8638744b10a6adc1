"""The start of the worker with configurations that cannot work, and the lines of its log."""

import importlib
import io
import json
import logging

import pytest
from oslo_config import cfg
from oslo_log import formatters, log

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.service import Endpoints
from placement_worker.worker import log_escaping, startup
from tests import hostile_requests
from tests.config_files import Options

VALUE, GRACE = 'Value for option', 'graceful_shutdown_timeout'
FILE, FOLDER = ['--config-file=worker.conf'], ['--config-dir=.', '--nodebug']


@pytest.mark.parametrize(
    ('arguments', 'text', 'message'),
    [
        (FILE, '[worker]\ntopic =\n', '[worker] topic is empty'),
        (FILE, '[DEFAULT]\nlog_config_append = /nofile\n', 'Cannot set up the log: /nofile: '),
        (FILE, '[DEFAULT]\nlog_file = /none/w.log\n', '/none/w.log: No such file or directory'),
        *(
            (given, f'[{group}]\n{option} = maybe\n', f'{VALUE} [{group}] {option} from {{}}')
            for given, group, option in (
                *((FILE, 'DEFAULT', one) for one in ('debug', 'use_syslog', GRACE)),
                *((FILE, 'metrics', 'port'), (FOLDER, 'DEFAULT', 'debug')),
            )
        ),
    ],
)
def test_configure_with_options_that_cannot_work_raises_an_error_that_names_them(
    tmp_path, monkeypatch, arguments, text, message
):
    """A worker that cannot start reports the option, the file and the value."""
    monkeypatch.setattr(logging.root, 'handlers', [])
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'worker.conf').write_text(text)

    with pytest.raises(startup.STARTUP_ERRORS) as raised:
        startup.configure(Options(), arguments)

    assert startup.describe_error(raised.value).startswith(message.format(tmp_path / 'worker.conf'))


@pytest.mark.parametrize('argument', ['--conf', '--conf-file', 'file'])
def test_configure_with_a_wrong_argument_leaves_the_report_to_oslo_config(capsys, argument):
    """The usage of the whole program is printed, with exit status 2."""
    with pytest.raises(SystemExit) as raised:
        startup.configure(Options(), [argument, 'file'])

    assert raised.value.code == 2
    assert '--log-file' in capsys.readouterr().err


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


REQUESTS = dict(hostile_requests.requests())
CLOUD = {
    'zones': {'a': True, 'b': True, hostile_requests.TEXT: True},
    'regions': ['R1', hostile_requests.TEXT],
}
OSLO, PLAIN, NONE = 'oslo', 'plain', 'none'


@pytest.fixture
def written(monkeypatch, caplog):
    """Return the text that this package logs during an action, and its number of records."""
    conf = cfg.ConfigOpts()
    log.register_options(conf)
    conf([])
    logger = logging.getLogger('placement_worker')
    monkeypatch.setattr(logger, 'propagate', False)
    caplog.set_level(logging.DEBUG, 'placement_worker')  # also forgets which levels are enabled
    by_name = {
        OSLO: formatters.ContextFormatter(config=conf),
        PLAIN: logging.Formatter('%(levelname)s %(message)s'),
        'json': formatters.JSONFormatter(),
        NONE: None,
    }

    def write(act, formatter=OSLO):
        stream, records = io.StringIO(), []
        handler = logging.StreamHandler(stream)
        handler.addFilter(lambda record: records.append(record) or True)
        handler.setFormatter(by_name[formatter])
        monkeypatch.setattr(logger, 'handlers', [handler])
        log_escaping.escape_records()
        log_escaping.escape_records()
        act(logger)
        return stream.getvalue(), len(records)

    return write


@pytest.mark.parametrize('formatter', [OSLO, PLAIN, NONE])
def test_log_with_a_hostile_message_writes_one_line(written, formatter):
    """A request can neither forge records of the log nor control a terminal."""
    text, _ = written(lambda logger: logger.warning('Grüße %s', hostile_requests.TEXT), formatter)

    assert hostile_requests.raw(text) == []
    assert text.count('\n') == 1
    assert 'Grüße evil\\n' in text


@pytest.mark.parametrize('formatter', [OSLO, PLAIN])
def test_log_with_a_hostile_exception_writes_a_traceback_without_forged_lines(written, formatter):
    """Texts of an exception, its cause and its notes begin no line, of any handler's log."""

    def fail(logger):
        logger.handlers *= 2
        try:
            try:
                raise KeyError(hostile_requests.TEXT)
            except KeyError as exc:
                exc.add_note(hostile_requests.TEXT)
                raise ValueError(hostile_requests.TEXT) from exc
        except ValueError:
            logger.exception('It failed')

    text, _ = written(fail, formatter)

    assert hostile_requests.raw(text) == []
    for words in ('KeyError: ', 'ValueError: evil\\n', 'direct cause', 'raise KeyError'):
        assert text.count(words) >= 2
    begun = [line for line in text.splitlines() if 'Traceback' in line]
    assert len(begun) == 4
    assert all(line.endswith('Traceback (most recent call last):') for line in begun)
    assert not any(
        hostile_requests.FORGED in line and 'evil' not in line for line in text.splitlines()
    )


def test_log_with_an_exception_that_is_only_being_handled_writes_one_line(written):
    """The summary that oslo.log adds about the current exception is escaped as well."""

    def fail(logger):
        try:
            raise errors.ConfigurationError from RuntimeError(hostile_requests.TEXT)
        except errors.ConfigurationError:
            try:
                raise RuntimeError(hostile_requests.TEXT)
            except RuntimeError:
                logger.error('It failed')

    text, _ = written(fail)

    assert hostile_requests.raw(text) == []
    assert text.count('\n') == 1
    assert 'RuntimeError: evil' in text


def test_log_of_this_package_while_an_exception_is_handled_says_the_cause_once(written):
    """The messages of the package name their causes, so a summary would repeat them."""

    def fail(logger):
        try:
            raise errors.ConfigurationError('it is too late')
        except errors.ConfigurationError as exc:
            logger.getChild('cordons').warning('Kept the cordons: %s', exc)

    text, _ = written(fail)

    assert text.endswith('Kept the cordons: it is too late\n')


def test_log_in_json_with_hostile_text_writes_one_line_that_says_the_same(written):
    """The JSON formatter of oslo.log writes no control character, not even DEL."""
    text, _ = written(lambda logger: logger.warning('%s', hostile_requests.TEXT), 'json')

    assert hostile_requests.raw(text) == []
    assert hostile_requests.TEXT in json.loads(text)['args']


def test_log_with_an_exception_that_has_no_text_is_written_with_its_notes(written):
    """An exception whose text raises does not lose the record."""

    class Broken(Exception):
        def __str__(self):
            raise TypeError('no text')

    def fail(logger):
        broken = Broken()
        broken.add_note('a\nnote')
        logger.error('It failed', exc_info=broken)

    text, _ = written(fail)

    assert 'It failed' in text
    assert 'Broken: <the text of the exception cannot be shown>' in text
    assert 'a\\nnote' in text


@pytest.mark.parametrize('name', REQUESTS)
def test_endpoints_with_a_hostile_field_log_one_line_per_record(written, registry, name):
    """No field of a request reaches the log or the error reply unescaped."""
    messages = []

    def decide(_):
        try:
            Endpoints(Inventory.parse(CLOUD, 'test'), registry).policy_check(REQUESTS[name])
        except errors.PlacementWorkerError as exc:
            messages.append(str(exc))

    text, records = written(decide)

    assert [*hostile_requests.raw(text), *hostile_requests.raw(' '.join(messages))] == []
    assert text.count('\n') == records > 0


def traced(*, enabled, protocol='http/protobuf'):
    conf = cfg.ConfigOpts()
    options = [
        cfg.BoolOpt('tracing_enabled', default=enabled),
        cfg.StrOpt('otlp_protocol', default=protocol),
    ]
    conf.register_opts(options, startup.TRACING)
    conf([])
    return conf


@pytest.fixture
def imported(monkeypatch):
    """Keep the names of imported modules; those of gRPC are missing."""
    names = []

    def import_module(name):
        if '.grpc' in name:
            raise ModuleNotFoundError(name=name)
        names.append(name)

    monkeypatch.setattr(importlib, 'import_module', import_module)
    return names


@pytest.mark.parametrize(
    ('conf', 'names'),
    [
        (cfg.ConfigOpts(), []),
        (traced(enabled=False), []),
        (traced(enabled=True), ['opentelemetry.sdk.trace', startup.EXPORTERS['http/protobuf']]),
    ],
)
def test_prepare_imports_sdk_and_exporter_with_tracing_alone(conf, names, imported):
    """oslo.messaging finds an exporter only if its module is imported, and may have no tracing."""
    startup.prepare_tracing(conf)

    assert imported == names


@pytest.mark.usefixtures('imported')
def test_prepare_with_a_missing_library_names_library_and_remedy():
    """A missing library is reported before the worker starts, with the package to install."""
    with pytest.raises(
        errors.ConfigurationError,
        match=r'tracing_enabled needs opentelemetry\.exporter\.otlp\.proto\.grpc\.trace_exporter, '
        r'which is not installed: install placement-worker\[tracing\]',
    ):
        startup.prepare_tracing(traced(enabled=True, protocol='grpc'))
