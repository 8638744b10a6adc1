"""Users and trusts: the worker acts for the owner of the stack."""

import requests

from tests.heat.stacks import Stack


def test_worker_with_another_user_cannot_use_the_trust(cloud):
    """A worker whose user is not the trustee of Heat's trusts fails the group with the remedy."""
    file = cloud.folder / 'etc' / 'worker2.conf'
    file.write_text(file.read_text().replace('username = heat', 'username = glance'))
    cloud.run_only('worker2')

    try:
        group = Stack(cloud).create(1, 'CREATE_FAILED')
    finally:
        cloud.run_only('worker1')

    reason = group.show()['stack_status_reason']
    assert 'the service user of [service_auth] is its trustee' in reason
    assert group.members() == []


def test_signed_url_of_an_alarm_scales_the_group(cloud):
    """A POST to the URL for alarms, without a token, adds a member in an empty zone."""
    group = Stack(cloud).create(1)
    alarm = {'alarm_name': 'busy', 'previous': 'ok', 'current': 'alarm', 'reason': 'above 80 %'}

    response = requests.post(group.alarm_url('grow'), json=alarm, timeout=60)
    assert response.ok, response.text
    group.wait_for_size(2)

    assert set(group.zones().values()) == {1}
