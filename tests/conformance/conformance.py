"""The conformance tables, and the parts of a reply that a case compares."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

Case = dict[str, Any]

CASES: list[Case] = [
    case
    for path in sorted((Path(__file__).parent / 'cases').glob('*.json'))
    for case in json.loads(path.read_text())['cases']
]


def compared(reply: Any, expected: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a reply that the case expects."""
    data = reply['action']['data']
    parts = {
        key: data.get(key)
        for key in ('status', 'reason', 'creation', 'deletion')
        if key in expected
    }
    if 'placements_of' in expected:
        parts['placements_of'] = {
            key: dict(Counter(entry[key] for entry in data['placement']['placements']))
            for key in expected['placements_of']
        }
    if 'outcomes' in expected:
        parts['outcomes'] = [decision['outcome'] for decision in reply['decisions']]
    return parts
