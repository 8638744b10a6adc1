"""Requests, stored data and failures for tests of the load-balancing policy."""

from placement_worker.cloud.ports import ApiError
from tests.factories import connected, request

OURS = ['placement-worker:cluster=c1', 'placement-worker:policy=pol-loadbalance']
FORBIDDEN = 'Policy does not allow this request to be performed.'


class Killed(BaseException):
    """The death of the worker: no handler may catch it."""


def after(action, policies, members, **more):
    return request(action, policies, members, target='AFTER', **more)


def created(*node_ids):
    return {'creation': {'count': len(node_ids), 'nodes': list(node_ids)}}


def decision(reply):
    return reply['decisions'][-1]


def status(reply):
    return reply['action']['data']['status'], reply['action']['data']['reason']


def ids_of(binding):
    return binding['data']['LoadBalancingPolicy']['data']


def writes(lab):
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


def at(number, address):
    """Return a node with the address of another number."""
    return {**connected(address), 'id': f'n{number}', 'name': f'n{number}'}


def named(*node_ids):
    """Return the inputs that name nodes to delete."""
    return {'inputs': {'candidates': list(node_ids)}}
