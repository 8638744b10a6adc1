"""Names of places in a spec: look them up in the cloud, and warn of unknown ones."""

import json
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from placement_worker.contract.model import BindRequest
from placement_worker.errors import CloudUnavailable, NoUsablePlace
from placement_worker.formats.text import listed
from placement_worker.policies.base import BindingOutcome

T = TypeVar('T')


def unknown(what: str, names: Sequence[str]) -> str:
    """Return the sentence that the cloud does not know these names.

    :param what: the type of the names, e.g. "region".
    """
    return f'The cloud does not know {_list(what, names)}'


class Search:
    """A search for the names of a policy in the parts of the cloud.

    If a part is unavailable, the search goes on. A missing name is then no error, because that
    part may know it.
    """

    def __init__(self, what: str, names: Sequence[str]) -> None:
        """Start a search for all names.

        :param what: the type of the names, e.g. "region".
        """
        self._what, self._names = what, names
        self._causes: list[str] = []
        self.missing = list(names)

    def query(self, ask: Callable[[], T]) -> T | None:
        """Return the response of a part of the cloud, or None if the part is unavailable."""
        try:
            return ask()
        except CloudUnavailable as exc:
            self._causes.append(str(exc))
            return None

    def among(self, ask: Callable[[], Collection[str]]) -> None:
        """Remove the names that a part of the cloud knows from the missing ones."""
        if self.missing:
            known = self.query(ask) or ()
            self.missing = [name for name in self.missing if name not in known]

    def binding_outcome(self, request: BindRequest) -> BindingOutcome:
        """Return the outcome of the binding, with a warning of the names that are still missing.

        :raises NoUsablePlace: the whole cloud is available and knows none of the names.
        """
        if self.missing and self._causes:
            listed = _list(self._what, self.missing)
            return BindingOutcome(
                request.policy.data, warnings=[f'Lookup of {listed} failed: {self._causes[0]}']
            )
        if len(self.missing) == len(self._names):
            raise NoUsablePlace(unknown(self._what, self._names))
        warnings = [unknown(self._what, self.missing)] if self.missing else []
        return BindingOutcome(request.policy.data, warnings=warnings)


def _list(what: str, names: Sequence[str]) -> str:
    """Return the first names, escaped, e.g. regions "R1", "R2" and 3 more."""
    shown = listed(names, lambda name: json.dumps(name, ensure_ascii=False))
    return f'{what if len(names) == 1 else what + "s"} {shown}'
