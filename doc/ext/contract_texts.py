"""Read the texts of doc/source/contract.yaml about the types of the contract.

This module does not import Sphinx, so that tools and tests can read the texts, too.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).parents[1] / 'source' / 'contract.yaml'
TEXTS: Mapping[str, Any] = yaml.safe_load(FILE.read_text(encoding='utf-8'))
# The groups of objects -> name -> key -> text.
GROUPS = ('requests', 'replies', 'others')
OBJECTS: Mapping[str, Mapping[str, str]] = {
    name: keys for group in GROUPS for name, keys in TEXTS[group].items()
}
_ROLE = re.compile(r':\w+:`(?:[^`<]*<)?([^`<>]+)>?`')


def plain_text(description: str) -> str:
    """Return a description without markup."""
    named = _ROLE.sub(r'section "\1" of the manual', description)
    return named.replace('``', '')
