"""Requests from the documents of files."""

import pytest

from placement_worker.cmd.request_files import request_of
from placement_worker.contract.model import CheckRequest
from placement_worker.errors import InvalidRequest
from tests.malformed_requests import GOOD


def test_request_of_a_document_decodes_it():
    """A document that fits the contract becomes a typed request."""
    assert request_of(GOOD, CheckRequest).action.action == GOOD['action']['action']


def test_request_of_a_document_with_an_unknown_key_is_refused():
    """A misspelled key is an error, not a default."""
    with pytest.raises(InvalidRequest, match='Expected only keys of the contract'):
        request_of({**GOOD, 'dryrun': True}, CheckRequest)


def test_request_of_another_kind_is_refused():
    """A document of another kind is refused before its keys are checked."""
    with pytest.raises(InvalidRequest, match='This is a scenario'):
        request_of({'title': 't', 'cloud': {}, 'policies': [], 'steps': []}, CheckRequest)
