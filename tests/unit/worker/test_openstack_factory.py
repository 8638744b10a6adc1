"""The OpenStack cloud of a configuration, with simulated services."""

import pytest
import yaml
from oslo_config import cfg

from placement_worker.config import options
from placement_worker.contract.model import Credentials
from placement_worker.errors import ConfigurationError
from placement_worker.worker import openstack_factory

TRUST = Credentials('trust-a')
USER = {
    'auth_type': 'password',
    'auth_url': '{url}/v3',
    'username': 'u',
    'password': 'hunter2',
    'user_domain_id': 'default',
    'project_name': 'service',
    'project_domain_name': 'Default',
}


@pytest.fixture
def configured(tmp_path, services):
    made = []

    def configure(cloud=None, **groups):
        file = tmp_path / 'placement-worker.conf'
        written = {'cloud': cloud or {}, **groups}
        lines = [
            f'[{group}]\n' + '\n'.join(f'{name} = {value}' for name, value in options.items())
            for group, options in written.items()
        ]
        file.write_text('\n'.join(lines).format(url=services.url))
        conf = cfg.ConfigOpts()
        options.register(conf)
        conf([], default_config_files=[str(file)])
        made.append(openstack_factory.create(conf))
        return made[-1]

    yield configure
    for clouds in made:
        clouds.sessions.connections.close()


def scopes(services):
    return [body['auth'].get('scope') for body in services.bodies if 'auth' in body]


def test_tokens_are_scoped_to_the_trust_or_to_the_project_of_the_service_user(configured, services):
    """A token never has more rights than the request needs."""
    clouds = configured(service_auth=USER)

    assert clouds.acting_for(TRUST, 'project-a').zones('RegionOne')
    assert clouds.acting_as_service().zones('RegionOne')

    of_service = {'project': {'name': 'service', 'domain': {'name': 'Default'}}}
    assert scopes(services) == [{'OS-TRUST:trust': {'id': 'trust-a'}}, of_service]


def test_service_user_in_the_section_of_auth_section_is_used(configured):
    """Several services can share one section with the service user."""
    clouds = configured(
        service_auth={'auth_section': 'shared', 'region_name': 'RegionTwo'}, shared=USER
    )

    assert clouds.acting_for(TRUST, 'project-a').zones(None) == {'az3': True}


@pytest.mark.filterwarnings('ignore:Support for InfluxDB')  # openstacksdk's own affair
def test_cloud_name_uses_an_entry_of_clouds_yaml(configured, services, tmp_path, monkeypatch):
    """An operator can try the worker without a service user."""
    auth = {**USER, 'auth_url': USER['auth_url'].format(url=services.url)}
    del auth['auth_type']
    entry = {'auth': auth, 'region_name': 'RegionTwo', 'interface': 'public', 'verify': False}
    (tmp_path / 'clouds.yaml').write_text(yaml.safe_dump({'clouds': {'mine': entry}}))
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(tmp_path / 'clouds.yaml'))

    clouds = configured(cloud={'cloud_name': 'mine', 'allow_service_credentials': 'true'})

    assert clouds.acting_for(TRUST, 'project-a').zones(None) == {'az3': True}
    assert clouds.acting_for(Credentials(), 'service').zones(None) == {'az3': True}
    assert clouds.access.connection['verify'] is False
    assert scopes(services)[0] == {'OS-TRUST:trust': {'id': 'trust-a'}}


@pytest.mark.parametrize(
    ('options', 'wanted'),
    [
        ({}, ['public']),
        ({'interface': 'internal'}, ['internal']),
        ({'valid_interfaces': 'internal,public'}, ['internal', 'public']),
        ({'interface': 'public', 'valid_interfaces': 'internal'}, ['public']),
    ],
)
def test_endpoints_are_public_unless_the_options_say_otherwise(configured, options, wanted):
    """The option `interface`, or else `valid_interfaces`, chooses the endpoints."""
    assert configured(service_auth={**USER, **options}).access.interfaces == wanted


def test_options_of_connections_reach_the_connections(configured):
    """Certificates and timeouts of the options apply to every request."""
    given = {'cafile': '/ca.pem', 'certfile': '/c.pem', 'keyfile': '/k.pem', 'timeout': 7}

    def connection(**options):
        return configured(service_auth={**USER, **options}).access.connection

    assert connection() == {'verify': True, 'cert': None, 'timeout': 60}
    certificate = {'verify': '/ca.pem', 'cert': ('/c.pem', '/k.pem')}
    assert connection(**given) == {**certificate, 'timeout': 7}
    assert connection(insecure='true')['verify'] is False


def test_options_of_the_cloud_reach_the_cloud(configured, services):
    """Attempts, time budget and cache are those of the options."""
    limits = {'max_attempts': 2, 'lookup_budget_s': 7, 'validity_ttl_s': 60}
    clouds = configured(cloud={**limits, 'allow_service_credentials': 'true'}, service_auth=USER)

    for _ in range(2):
        assert clouds.acting_for(Credentials(), 'service').regions()

    assert (clouds.retry_policy.max_attempts, clouds.retry_policy.budget_s) == (2, 7)
    assert services.count('/v3/regions') == 1


@pytest.mark.parametrize(
    ('groups', 'message'),
    [
        ({}, r'\[service_auth\] auth_type is not set: \[cloud\] backend = openstack needs'),
        ({'service_auth': {'auth_section': 'there'}}, r'\[there\] auth_type is not set'),
        ({'service_auth': {**USER, 'auth_type': 'nonsense'}}, r'does not suffice .*: .*nonsense'),
        ({'service_auth': {'auth_type': 'password'}}, r'does not suffice .*: .*auth[-_]url'),
        ({'service_auth': {'auth_type': 'none'}}, r'has an auth_type that takes no trust: use'),
        ({'service_auth': {**USER, 'password': 's$hunter2'}}, r'\[service_auth\] has .* a \$, and'),
        ({'cloud': {'cloud_name': 'nowhere'}}, r'\[cloud\] cloud_name = nowhere: .*nowhere'),
    ],
)  # fmt: skip
def test_create_with_insufficient_options_raises_without_secrets(
    configured, tmp_path, monkeypatch, groups, message
):
    """A worker that cannot reach its cloud names the option and hides the password."""
    # openstacksdk would look elsewhere for a missing file
    (tmp_path / 'clouds.yaml').write_text('clouds: {mine: {}}')
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(tmp_path / 'clouds.yaml'))

    with pytest.raises(ConfigurationError, match=message) as raised:
        configured(**groups)

    assert 'hunter2' not in str(raised.value)
