"""The options and the configuration of an engine's client, and the ids that it sends."""

from types import SimpleNamespace

from oslo_config import cfg

from placement_worker.engines import client_setup


def test_broker_options_name_the_engine_and_hide_the_url():
    """The help names the engine, and logs mask the URL, which has a password."""
    url, *others = client_setup.broker_options('Heat', 'Groups fail.')

    assert url.secret
    assert 'those of Heat do not apply. Groups fail.' in url.help
    assert [option.name for option in others] == ['exchange', 'topic']


def test_ids_of_context_omit_secrets_and_missing_values():
    """Of a context, only the ids that it has are sent."""
    context = SimpleNamespace(
        request_id='req-1', user_id=None, project_id='demo', password='secret', trust_id='t'
    )

    assert client_setup.ids(context) == {'request_id': 'req-1', 'project_id': 'demo'}
    assert client_setup.ids(None) == {}


def test_separate_configuration_copies_observed_groups_only():
    """The client measures and traces as its engine does, and has nothing else of its options."""
    engine = cfg.ConfigOpts()
    engine.register_opts(
        [cfg.BoolOpt('metrics_enabled', default=True), cfg.IntOpt('buffer', default=7)],
        'oslo_messaging_metrics',
    )
    engine.register_opt(cfg.StrOpt('rabbit_login_method'), 'oslo_messaging_rabbit')
    engine([])

    conf = client_setup.separate_configuration(engine)

    assert conf.oslo_messaging_metrics.metrics_enabled is True
    assert conf.oslo_messaging_metrics.buffer == 7
    assert 'oslo_messaging_rabbit' not in conf
