"""Requests, stored data and failures for tests of the load-balancing policy."""

from placement_worker.cloud.ports import ApiError
from tests.factories import request

OURS = ['placement-worker:cluster=c1', 'placement-worker:policy=pol-loadbalance']
FORBIDDEN = 'Policy does not allow this request to be performed.'


class Killed(BaseException):
    """The death of the worker: no handler may catch it."""


def after(action, policies, members, **more):
    """Return the request for a check after an action."""
    return request(action, policies, members, target='AFTER', **more)


def created(*node_ids):
    """Return the action's data if it created these nodes."""
    return {'creation': {'count': len(node_ids), 'nodes': list(node_ids)}}


def decision(reply):
    """Return the last decision of a check."""
    return reply['decisions'][-1]


def status(reply):
    """Return status and reason of a check."""
    return reply['action']['data']['status'], reply['action']['data']['reason']


def ids_of(binding):
    """Return the ids of the load balancer in the data of a binding."""
    return binding['data']['LoadBalancingPolicy']['data']


def writes(lab):
    """Return the calls that write."""
    return [str(call) for call in lab.calls if call.writes]


def member_ids(lab):
    """Return the members: node name -> member id."""
    return {member['name']: member['id'] for member in lab.settled()['member']}


def left(lab):
    """Return the nodes that are still in the pool."""
    return [f'n{address.rpartition(".")[2]}' for address in lab.addresses()]


def stored(version, **data):
    """Return the data of a binding, as policies of any version have left it."""
    return {'LoadBalancingPolicy': {'version': version, 'data': data}}


def recreated(member, number=9, **data):
    """Return a node with a new server, which has the address of this number."""
    address = {'details': {'addresses': {'private': [{'addr': f'10.0.0.{number}', 'version': 4}]}}}
    return {**member, **address, 'data': {**member['data'], 'recovery': 'RECREATE', **data}}


def refusal(name, resource_id=None, *, error=None):
    """Return an `around` of a lab that refuses calls, or only those about one resource."""

    def around(call):
        if call.name == name and resource_id in (None, *call.arguments[:2]):
            raise error or ApiError(FORBIDDEN, 403)
        return call.act()

    return around
