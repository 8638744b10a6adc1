"""Senlin's REST API, as a user calls it."""

import itertools
from typing import Any

from keystoneauth1.session import Session

from tests.cloud import computes
from tests.cloud.databases import Json, SenlinDatabase
from tests.waiting import wait_for

ENDED = ('SUCCEEDED', 'FAILED', 'CANCELLED')
ACTION_S = 300
POLL_S = 0.3
VERSION = 'clustering 1.14'
SERVER = {'flavor': '1', 'image': computes.IMAGE, 'networks': [{'network': 'private'}]}


class Senlin:
    """The API for one user; the names of objects are numbered."""

    def __init__(self, url: str, session: Session, database: SenlinDatabase) -> None:
        # The database shows when actions end; each request to the API takes more of the processors,
        # which services need.
        self._url, self._session, self._database = url, session, database
        self._numbers = itertools.count(1)

    def get(self, path: str) -> Any:
        return self._request('GET', path).json()

    def post(self, path: str, **body: Any) -> Json:
        return dict(self._request('POST', path, **body).json())

    def create_policy(self, type_: str, version: str = '1.0', /, **properties: Any) -> str:
        """Create a policy of a type without `senlin.policy`; return its id."""
        spec = {'type': f'senlin.policy.{type_}', 'version': version, 'properties': properties}
        policy = {'name': self._name(type_), 'spec': spec}
        return str(self.post('policies', policy=policy)['policy']['id'])

    def create_profile(self, **properties: Any) -> str:
        properties = {**SERVER, 'name': 'server', **properties}
        spec = {'type': 'os.nova.server', 'version': '1.0', 'properties': properties}
        profile = {'name': self._name('profile'), 'spec': spec}
        return str(self.post('profiles', profile=profile)['profile']['id'])

    def create_cluster(self, profile: str, size: int = 0, **more: Any) -> str:
        """Create a cluster and wait for its nodes; return its id."""
        described = {'profile_id': profile, 'desired_capacity': size, **more}
        made = self.post('clusters', cluster={'name': self._name('cluster'), **described})
        cluster_id = str(made['cluster']['id'])
        self.wait_for_last_action(cluster_id)
        return cluster_id

    def create_node(self, profile: str, **more: Any) -> str:
        """Create a node and wait for its server; return its id."""
        node = {'name': self._name('node'), 'profile_id': profile, **more}
        node_id = str(self.post('nodes', node=node)['node']['id'])
        self.wait_for_last_action(node_id)
        return node_id

    def begin(self, target: str, name: str, **inputs: Any) -> str:
        """Start an action of a target such as clusters/ID; return its id."""
        return str(self.post(f'{target}/actions', **{name: inputs})['action'])

    def succeed(self, target: str, name: str, **inputs: Any) -> Json:
        return ended(self.wait(self.begin(target, name, **inputs)))

    def update_node(self, node_id: str, **changes: Any) -> None:
        self._wait_for_action_of(self._request('PATCH', f'nodes/{node_id}', node=changes))

    def delete(self, target: str) -> Json:
        """Delete an object, which must succeed; return the action."""
        return self._wait_for_action_of(self._request('DELETE', target))

    def wait(self, action_id: str) -> Json:
        """Return an action when it has ended."""
        wait_for(lambda: self._database.status_of(action_id) in ENDED, ACTION_S, POLL_S)
        return dict(self.get(f'actions/{action_id}')['action'])

    def wait_for_last_action(self, target_id: str) -> Json:
        return ended(self.wait(self.last_action(target_id)['id']))

    def last_action(self, target_id: str) -> Json:
        query = f'actions?target={target_id}&sort=created_at:desc&limit=1'
        [action] = self.get(query)['actions']
        return dict(action)

    def _wait_for_action_of(self, response: Any) -> Json:
        return ended(self.wait(response.headers['Location'].rpartition('/')[2]))

    def _name(self, kind: str) -> str:
        return f'{kind}-{next(self._numbers)}'

    def _request(self, method: str, path: str, **body: Any) -> Any:
        headers = {'OpenStack-API-Version': VERSION}
        sent = {'json': body} if body else {}
        return self._session.request(
            f'{self._url}/{path}', method, headers=headers, authenticated=True, **sent
        )


def ended(action: Json, status: str = 'SUCCEEDED') -> Json:
    """Return an action, which must have ended with the status."""
    assert action['status'] == status, action['status_reason']
    return action
