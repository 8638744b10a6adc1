"""Decode requests from the documents of files."""

from typing import TypeVar

from placement_worker.contract import codec, document_kinds

T = TypeVar('T')


def request_of(document: object, kind: type[T]) -> T:
    """Return a document as a request; an unknown key is an error because it may be a typo.

    :raises InvalidRequest: the document is of another kind, or does not fit the contract.
    """
    document_kinds.check(document, kind, 'Expected only keys of the contract')
    return codec.decode(document, kind)
