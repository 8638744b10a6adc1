"""Requests, stored data and failures for tests of the load-balancing policy."""

from placement_worker.cloud.ports import ApiError
from tests.factories import request


def after(action, policies, members, **more):
    """Return the request for a check after an action."""
    return request(action, policies, members, target='AFTER', **more)


def created(*node_ids):
    """Return the action's data if it created these nodes."""
    return {'creation': {'count': len(node_ids), 'nodes': list(node_ids)}}


def decision(reply):
    """Return the last decision of a check."""
    return reply['decisions'][-1]


def member_ids(lab):
    """Return the members: node name -> member id."""
    return {member['name']: member['id'] for member in lab.settled()['member']}


def left(lab):
    """Return the nodes that are still in the pool."""
    return [f'n{address.rpartition(".")[2]}' for address in lab.addresses()]


def stored(version, **data):
    """Return the data of a binding, as policies of any version have left it."""
    return {'LoadBalancingPolicy': {'version': version, 'data': data}}


def refusal(name, resource_id):
    """Return an `around` of a lab that refuses the calls about one resource."""

    def around(call):
        if call.name == name and call.arguments[1] == resource_id:
            raise ApiError('Policy does not allow this request to be performed.', 403)
        return call.act()

    return around
