"""Make requests of what files say."""

from typing import TypeVar

from placement_worker.contract import codec, document_kinds

T = TypeVar('T')


def request_of(document: object, kind: type[T]) -> T:
    """One request of a file; a key that the contract does not list is refused, as it may be a slip.

    :raises InvalidRequest: it is of another kind, or does not fit the contract.
    """
    document_kinds.check(document, kind, 'Expected only keys of the contract')
    return codec.decode(document, kind)
