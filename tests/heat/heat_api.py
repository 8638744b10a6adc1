"""Heat's REST API, as a user calls it."""

from typing import Any

from keystoneauth1.session import Session


class Heat:
    """The API for one user."""

    def __init__(self, url: str, session: Session) -> None:
        self._url, self._session = url, session

    def get(self, path: str) -> Any:
        return self.request('GET', path).json()

    def request(self, method: str, path: str, **body: Any) -> Any:
        """Send a request; an error raises an exception with the message of Heat."""
        url = f'{self._url}/{self._session.get_project_id()}{path}'
        return self._session.request(url, method, json=body or None)
