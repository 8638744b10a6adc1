"""Trusts of plain users, their projects, and tokens of Keystone."""

from tests.integration import faults, trusts
from tests.integration.checks import ZONES, decided, refused, scale_out, sent


def test_trust_of_plain_user_suffices_and_token_is_reused(openstack, make_endpoints, trust):
    """A trust of a plain user suffices for placement, and later checks need no new token."""
    endpoints, asked = make_endpoints(), scale_out(openstack, trust())
    with openstack.lookups() as (keystone, nova):
        first = endpoints.policy_check(asked)
    assert decided(first)['creation']['zones'] == {'az1': 2, 'az2': 2, 'az3': 2}
    # each process discovers the versions of Keystone once
    assert sent(keystone) == ['GET /v3', 'POST /v3/auth/tokens']
    assert sent(nova) == ['GET /v2.1/os-availability-zone']

    with openstack.lookups() as (keystone, nova):
        for _ in range(3):
            decided(endpoints.policy_check(asked))

    assert sent(keystone) == []
    assert sent(nova) == ['GET /v2.1/os-availability-zone'] * 3


def test_trust_deleted_during_session_is_reported_at_next_refusal(
    openstack, make_endpoints, trust, proxy
):
    """A trust deleted during a session is reported when a service refuses the token.

    Services cache tokens for minutes, so the proxy refuses the token in place of Nova.
    """
    between, trust_id, endpoints = proxy('compute'), trust(), make_endpoints()
    decided(endpoints.policy_check(scale_out(openstack, trust_id)))
    openstack.connect('demo').identity.delete_trust(trust_id)
    between.inject(faults.respond(401), target=ZONES)

    reason = refused(endpoints.policy_check(scale_out(openstack, trust_id)))

    assert reason.startswith('Identity service refused the request: HTTP 40')
    assert trust_id not in reason


def test_trust_for_other_trustee_is_refused(openstack, make_endpoints):
    """A trust whose trustee is not the service user is refused."""
    owner, other = openstack.session('demo'), openstack.session('other')
    made = openstack.connect('demo').identity.create_trust(
        trustor_user_id=owner.get_user_id(),
        trustee_user_id=other.get_user_id(),
        project_id=owner.get_project_id(),
        impersonation=True,
        roles=[{'name': 'member'}],
    )

    reason = refused(make_endpoints().policy_check(scale_out(openstack, made.id)))

    assert 'the service user of [service_auth] is its trustee' in reason


def test_trust_of_other_project_is_refused(openstack, make_endpoints, trust):
    """A trust of another project is refused before any lookup."""
    asked, theirs = scale_out(openstack, trust('other')), trusts.project_of(openstack, 'other')
    with openstack.lookups() as (keystone, nova):
        reason = refused(make_endpoints().policy_check(asked))

    assert (
        f'The trust belongs to project {theirs}, but the cluster belongs to project '
        f'{asked["cluster"]["project"]}' in reason
    )
    assert sent(keystone) == ['GET /v3', 'POST /v3/auth/tokens']
    assert nova == []


def test_request_without_trust_is_refused_unless_allowed(openstack, make_endpoints):
    """A request without a trust is refused, unless the service user may use its own rights."""
    asked = scale_out(openstack, None)
    with openstack.lookups() as (keystone, nova):
        reason = refused(make_endpoints().policy_check(asked))
    assert reason.startswith('The request has no trust')
    assert (sent(keystone), nova) == ([], [])

    decided(make_endpoints(allow_service_credentials=True).policy_check(asked))
