"""For whom a worker acts: trusts of plain users, projects, tokens of real Keystone."""

from collections.abc import Callable

from placement_worker.handlers.endpoints import Endpoints
from tests.integration import faults, trusts
from tests.integration.checks import ZONES, decided, ours, refused, scale_out
from tests.integration.cloud import Cloud
from tests.integration.proxy import Proxy

Make = Callable[..., Endpoints]
Trust = Callable[..., str]


def test_the_trust_of_a_plain_user_is_enough_and_a_warm_check_needs_no_token(
    openstack: Cloud, make_endpoints: Make, trust: Trust
) -> None:
    endpoints, asked = make_endpoints(), scale_out(openstack, trust())
    with (
        openstack.services['keystone'].watch() as keystone,
        openstack.nova('RegionOne').watch() as nova,
    ):
        first = endpoints.policy_check(asked)
    assert decided(first)['creation']['zones'] == {'az1': 2, 'az2': 2, 'az3': 2}
    assert ours(keystone) == [
        'GET /v3',
        'POST /v3/auth/tokens',
    ]  # which versions there are is asked once a process
    assert ours(nova) == ['GET /v2.1/os-availability-zone']

    with (
        openstack.services['keystone'].watch() as keystone,
        openstack.nova('RegionOne').watch() as nova,
    ):
        for _ in range(3):
            decided(endpoints.policy_check(asked))

    assert ours(keystone) == []
    assert ours(nova) == ['GET /v2.1/os-availability-zone'] * 3


def test_to_read_is_enough_for_placement_and_deletion(
    openstack: Cloud, make_endpoints: Make, trust: Trust
) -> None:
    members = trusts.as_nodes(openstack.add_servers(3))
    asked = scale_out(openstack, trust(roles=['reader']), members=members)

    assert decided(make_endpoints().policy_check(asked))['creation']['count'] == 6


def test_a_trust_that_was_deleted_is_told_without_its_id(
    openstack: Cloud, make_endpoints: Make, trust: Trust
) -> None:
    trust_id = trust()
    openstack.connect('demo').identity.delete_trust(trust_id)

    reason = refused(make_endpoints().policy_check(scale_out(openstack, trust_id)))

    assert reason.startswith('Identity service refused the request: HTTP 40')
    assert 'check that the trust exists' in reason
    assert trust_id not in reason


def test_a_trust_that_is_deleted_while_its_session_is_warm_is_told_when_a_service_refuses_the_token(
    openstack: Cloud, make_endpoints: Make, trust: Trust, proxy: Callable[..., Proxy]
) -> None:
    """Services keep for some minutes that a token is valid; Nova's refusal is the proxy's,
    Keystone's its own.
    """
    between, trust_id, endpoints = proxy('compute'), trust(), make_endpoints()
    decided(endpoints.policy_check(scale_out(openstack, trust_id)))
    openstack.connect('demo').identity.delete_trust(trust_id)
    between.inject(faults.answered(401), target=ZONES)

    reason = refused(endpoints.policy_check(scale_out(openstack, trust_id)))

    assert reason.startswith('Identity service refused the request: HTTP 40')
    assert trust_id not in reason


def test_a_trust_for_another_user_is_refused(openstack: Cloud, make_endpoints: Make) -> None:
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


def test_the_trust_of_one_project_does_nothing_for_a_cluster_of_another(
    openstack: Cloud, make_endpoints: Make, trust: Trust
) -> None:
    asked, theirs = scale_out(openstack, trust('other')), trusts.project_of(openstack, 'other')
    with (
        openstack.services['keystone'].watch() as keystone,
        openstack.nova('RegionOne').watch() as nova,
    ):
        reason = refused(make_endpoints().policy_check(asked))

    assert (
        f'The trust belongs to project {theirs}, but the cluster belongs to project {asked["cluster"]["project"]}'
        in reason
    )
    assert ours(keystone) == ['GET /v3', 'POST /v3/auth/tokens']
    assert nova == []


def test_without_a_trust_nobody_is_asked_unless_the_service_user_may_stand_in(
    openstack: Cloud, make_endpoints: Make
) -> None:
    asked = scale_out(openstack, None)
    with (
        openstack.services['keystone'].watch() as keystone,
        openstack.nova('RegionOne').watch() as nova,
    ):
        reason = refused(make_endpoints().policy_check(asked))
    assert reason.startswith('The request has no trust')
    assert (ours(keystone), nova) == ([], [])

    decided(make_endpoints(allow_service_credentials=True).policy_check(asked))


def test_the_service_user_needs_a_role_to_see_the_servers_of_others(
    openstack: Cloud, make_endpoints: Make
) -> None:
    members = trusts.as_nodes(openstack.add_servers(1))

    reason = refused(
        make_endpoints(allow_service_credentials=True).policy_check(
            scale_out(openstack, None, members=members)
        )
    )

    assert reason.startswith('Compute service refused the request: HTTP 403')
    assert 'check that the roles' in reason
