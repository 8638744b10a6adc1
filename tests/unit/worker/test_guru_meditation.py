"""The guru meditation report."""

import pytest
from oslo_config import cfg

from placement_worker.worker import guru_meditation


@pytest.mark.parametrize(
    ('text', 'masked'),
    [
        ('url = rabbit://user:hunter2@host:5672/v', 'url = rabbit://***@host:5672/v'),
        ('rabbit://u:hunter2@a:1,v:hunter3@b:2/', 'rabbit://***@b:2/'),
        ('http://host/path x@y', 'http://host/path x@y'),
    ],
)
def test_secret_of_a_url_is_masked(text, masked):
    """The report shows the host of a URL without its user and password."""
    assert guru_meditation.SECRET.sub('***@', text) == masked


def test_report_has_threads_version_and_options_without_secrets():
    """An operator can publish the report."""
    conf = cfg.CONF
    options = [
        cfg.StrOpt('report_test_url', default='rabbit://user:hunter2@host/'),
        cfg.StrOpt('report_test_password', default='hunter3', secret=True),
    ]
    conf.register_opts(options)
    try:
        text = guru_meditation.Report(guru_meditation.Version('placement-worker'), None).run()
    finally:
        conf.reset()
        conf.unregister_opts(options)

    masked = ('report_test_url = rabbit://***@host/', 'report_test_password')
    for words in ('placement-worker', 'test_guru_meditation.py', *masked):
        assert words in text
    for secret in ('hunter2', 'hunter3'):
        assert secret not in text


def test_setup_without_a_standard_error_does_not_raise(monkeypatch):
    """A worker whose standard error is closed starts, without stacks at a crash."""
    monkeypatch.setattr('sys.stderr', None)
    monkeypatch.setattr(guru_meditation.Report, 'setup_autorun', lambda *_, **__: None)

    guru_meditation.setup(cfg.ConfigOpts(), 'placement-worker')
