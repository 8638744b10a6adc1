"""Make requests of what files say."""

from typing import TypeVar

from placement_worker import codec, errors

T = TypeVar('T')


def request_of(document: object, kind: type[T]) -> T:
    """One request of a file; a key that the contract does not list is refused, as it may be a slip.

    :raises InvalidRequest: it does not fit the contract.
    """
    unknown = list(codec.unknown_keys(document, kind))
    if unknown:
        raise errors.InvalidRequest(f'Expected only keys of the contract, got {", ".join(unknown)}')
    return codec.decode(document, kind)
