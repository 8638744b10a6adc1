"""Names of places in a spec: look them up in the cloud, and warn of unknown ones."""

import difflib
import json
import re
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from placement_worker.contract.model import BindRequest
from placement_worker.errors import CloudUnavailable, InvalidSpec, NoUsablePlace
from placement_worker.formats.text import listed, noun_for, shortened
from placement_worker.policies.outcomes import PROPERTIES, BindingOutcome

NUMBERS = re.compile(r'\d+')
SIMILAR = 0.75
"""The least similarity of a guess, for difflib; a short name with another letter has less."""
T = TypeVar('T')


def unknown(what: str, names: Sequence[str], known: Collection[str]) -> str:
    """Return the sentence that the cloud does not know these names.

    :param what: the type of the names, e.g. "region".
    :param known: the names that the cloud knows.
    """
    wrong = listed(names, lambda name: _quoted(name) + hint(name, known))
    has = f'it has {listed(sorted(known), _quoted)}' if known else 'it has none'
    return f'The cloud does not know {noun_for(len(names), what)} {wrong}; {has}'


def refuse_unusable(what: str, key: str, names: Sequence[str], usable: Collection[str]) -> None:
    """Refuse a spec that lists places in which no node can be created.

    :param what: the type of the places, e.g. "region".
    :param key: the property that lists them.
    :param names: the places of the spec.
    :param usable: the usable places.
    :raises InvalidSpec: there are places that are not usable.
    """
    unusable_names = [name for name in names if name not in usable]
    if unusable_names:
        wrong = listed(unusable_names, lambda name: _quoted(name) + hint(name, usable))
        others = listed(sorted(usable), _quoted) or 'none'
        at = f'{PROPERTIES}.{key}[{names.index(unusable_names[0])}].name'
        raise InvalidSpec(f'The cloud has no usable {what} {wrong}; usable: {others} - at `{at}`')


def hint(name: str, known: Collection[str]) -> str:
    """Return the known name that is probably meant, e.g. ' (did you mean "az1"?)', if any."""
    candidates = [other for other in known if not _are_neighbors(name, other)]
    near = difflib.get_close_matches(name, candidates, n=1, cutoff=SIMILAR)
    return f' (did you mean {_quoted(near[0])}?)' if near else ''


def _are_neighbors(name: str, other: str) -> bool:
    """Return whether two names differ as names of two places do, e.g. az1 and az2, 1a and 1b."""
    if NUMBERS.findall(name) != NUMBERS.findall(other):
        return True
    return len(name) == len(other) and name[:-1] == other[:-1]


def unusable(what: str, names: Sequence[str], known: Collection[str]) -> dict[str, str]:
    """Return why none of the names is usable, for the details of a decision.

    :param what: the type of the names, e.g. "regions".
    :param known: the names that the cloud knows.
    """
    missing = [name for name in names if name not in known]
    found = {
        f'unavailable_{what}': listed(name for name in names if name in known),
        f'unknown_{what}': listed(missing, lambda name: name + hint(name, known)),
        f'{what}_of_the_cloud': listed(sorted(known)),
    }
    return {key: shown for key, shown in found.items() if shown}


def none_usable(
    reason: str, what: str, key: str, names: Sequence[str], known: Collection[str]
) -> NoUsablePlace:
    """Return the error of a spec without a usable place, with a warning of the unknown names.

    :param what: the type of the names, e.g. "region".
    :param key: the property that lists them.
    :param known: the names that the cloud knows.
    """
    missing = [name for name in names if name not in known]
    warnings = [unknown(what, missing, known)] if missing else []
    return NoUsablePlace(reason, unusable(key, names, known), warnings=warnings)


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
        self._known: set[str] = set()
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
            self._known.update(known)
            self.missing = [name for name in self.missing if name not in known]

    def binding_outcome(self, request: BindRequest) -> BindingOutcome:
        """Return the outcome of the binding, with a warning of the names that are still missing.

        :raises NoUsablePlace: the whole cloud is available and knows none of the names.
        """
        if self.missing and self._causes:
            missing = f'{noun_for(len(self.missing), self._what)} {listed(self.missing, _quoted)}'
            return BindingOutcome(
                request.policy.data, warnings=[f'Lookup of {missing} failed: {self._causes[0]}']
            )
        if len(self.missing) == len(self._names):
            raise NoUsablePlace(unknown(self._what, self._names, self._known))
        warnings = [unknown(self._what, self.missing, self._known)] if self.missing else []
        return BindingOutcome(request.policy.data, warnings=warnings)


def _quoted(name: str) -> str:
    return json.dumps(shortened(name), ensure_ascii=False)
