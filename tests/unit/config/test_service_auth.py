"""The options of the service user."""

from placement_worker.config import service_auth
from tests.config_files import Options


def test_register_sets_a_timeout_for_requests():
    """No request to a service hangs for ever by default."""
    conf = Options()
    service_auth.register(conf)
    conf([])

    assert conf.service_auth.timeout == service_auth.REQUEST_TIMEOUT_S


def test_sample_options_leave_out_scopes_without_effect():
    """A token is for the project of a trust or of the service user."""
    names = {option.dest for option in service_auth.sample_options()}

    assert {'auth_url', 'username', 'password', 'cafile', 'region_name'} <= names
    assert not names & {'trust_id', 'system_scope', 'domain_id'}


def test_sample_options_describe_the_effect_of_insecure():
    """The help of `insecure` says what the value true does."""
    (insecure,) = (one for one in service_auth.sample_options() if one.dest == 'insecure')

    assert insecure.default is False
    assert insecure.help == 'Do not verify the certificates of HTTPS connections.'
