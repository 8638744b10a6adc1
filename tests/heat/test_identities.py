"""Users and trusts: the worker acts for the owner of the stack."""

from tests.heat.heat_cloud import HeatCloud
from tests.heat.stacks import Stack


def test_worker_with_another_user_cannot_use_the_trust(cloud: HeatCloud) -> None:
    """A worker whose user is not the trustee of Heat's trusts fails the group with the remedy."""
    file = cloud.folder / 'etc' / 'worker2.conf'
    file.write_text(file.read_text().replace('username = heat', 'username = glance'))
    cloud.workers['worker1'].kill()
    cloud.start_worker('worker2')
    cloud.wait_for_worker('worker2')

    try:
        group = Stack(cloud).create(1, 'CREATE_FAILED')
    finally:
        cloud.workers['worker2'].kill()
        cloud.start_worker('worker1')
        cloud.wait_for_worker('worker1')

    assert (
        'the service user of [service_auth] is its trustee' in (group.show()['stack_status_reason'])
    )
    assert group.members() == []
