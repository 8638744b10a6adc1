"""The guru meditation report."""

from oslo_config import cfg

from placement_worker.worker import guru_meditation


def test_report_has_threads_version_and_options_without_secrets():
    """An operator can publish the report."""
    conf = cfg.CONF
    options = [
        cfg.StrOpt('report_test_url', default='rabbit://u:hunter2@a:1,v:hunter4@host/'),
        cfg.StrOpt('report_test_path', default='http://host/path x@y'),
        cfg.StrOpt('report_test_password', default='hunter3', secret=True),
    ]
    conf.register_opts(options)
    try:
        text = guru_meditation.Report(guru_meditation.version_of('placement-worker'), None).run()
    finally:
        conf.reset()
        conf.unregister_opts(options)

    shown = ('rabbit://***@host/', 'http://host/path x@y', 'report_test_password')
    for words in ('placement-worker', 'test_guru_meditation.py', *shown):
        assert words in text
    assert 'hunter' not in text


def test_setup_without_a_standard_error_does_not_raise(monkeypatch):
    """A worker whose standard error is closed starts, without stacks at a crash."""
    monkeypatch.setattr('sys.stderr', None)
    monkeypatch.setattr(guru_meditation.Report, 'setup_autorun', lambda *_, **__: None)

    guru_meditation.setup(cfg.ConfigOpts(), 'placement-worker')
