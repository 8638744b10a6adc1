"""The conformance tables: cases with the right answers, and how a reply is compared with one."""

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


def told(reply: Any, expected: dict[str, Any]) -> dict[str, Any]:
    """What the reply says of that which the case expects."""
    data = reply['action']['data']
    said = {
        key: data.get(key)
        for key in ('status', 'reason', 'creation', 'deletion')
        if key in expected
    }
    if 'placements_of' in expected:
        said['placements_of'] = {
            key: dict(Counter(entry[key] for entry in data['placement']['placements']))
            for key in expected['placements_of']
        }
    if 'outcomes' in expected:
        said['outcomes'] = [decision['outcome'] for decision in reply['decisions']]
    return said
