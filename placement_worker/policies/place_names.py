"""Texts about names of zones and regions that the cloud does not know.

A check, an attachment, the validation of a policy and a scenario must word an unknown name alike.
A guess helps with a misspelling only: az2 is no misspelling of az1, but another zone.
"""

import json
import re
from collections.abc import Collection, Sequence

from placement_worker.errors import NoUsablePlace
from placement_worker.formats.text import listed, nearest, noun_for, shortened

_NUMBERS = re.compile(r'\d+')
# Cutoff of difflib: short names that differ in one letter are not suggested.
_SIMILAR = 0.75


def unknown_names(noun: str, names: Sequence[str], known: Collection[str]) -> str:
    wrong = listed(names, lambda name: quoted(name) + similar_name(name, known))
    has = f'it has {listed(sorted(known), quoted)}' if known else 'it has none'
    return f'The cloud does not know {noun_for(len(names), noun)} {wrong}; {has}'


def similar_name(name: str, known: Collection[str]) -> str:
    candidates = [other for other in known if not _may_be_siblings(name, other)]
    near = nearest(name, candidates, _SIMILAR)
    return f' (did you mean {quoted(near)}?)' if near else ''


def _may_be_siblings(name: str, other: str) -> bool:
    """Return whether the names differ in a number or in the last letter, as az1 and az2.

    Such a name is no misspelling.
    """
    if _NUMBERS.findall(name) != _NUMBERS.findall(other):
        return True
    return len(name) == len(other) and name[:-1] == other[:-1]


def none_usable(
    reason: str, noun: str, key: str, names: Sequence[str], known: Collection[str]
) -> NoUsablePlace:
    missing = [name for name in names if name not in known]
    details = {
        f'unavailable_{key}': listed(name for name in names if name in known),
        f'unknown_{key}': listed(missing, lambda name: name + similar_name(name, known)),
        f'{key}_of_the_cloud': listed(sorted(known)),
    }
    warnings = [unknown_names(noun, missing, known)] if missing else []
    present = {name: text for name, text in details.items() if text}
    return NoUsablePlace(reason, present, warnings=warnings)


def quoted(name: str) -> str:
    return json.dumps(shortened(name), ensure_ascii=False)
