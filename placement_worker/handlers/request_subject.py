"""The action and the cluster of a request without a reply, for the log."""

from typing import Any, TypeVar

import msgspec

from placement_worker.contract import codec
from placement_worker.errors import InvalidRequest
from placement_worker.formats.text import escaped, shortened

_NOTHING = msgspec.Raw(b'null')
T = TypeVar('T')


class _Keys(msgspec.Struct, frozen=True):
    """The keys of a request that say what it is about; the values may be of any form."""

    target: Any = None
    action: msgspec.Raw = _NOTHING
    cluster: msgspec.Raw = _NOTHING


class _Object(msgspec.Struct, frozen=True):
    """The keys of an action or a cluster that name it."""

    id: Any = None
    action: Any = None


def of_request(raw: object, max_bytes: int | None = None) -> str:
    """Return what a request is about, e.g. "BEFORE CLUSTER_RESIZE 'a1' of cluster 'c1': ".

    The words are those of the line of a reply. Parts that the request lacks or that cannot be
    decoded are left out. The result is empty without a name of an action or a cluster.

    :param raw: the request as plain data or as a JSON string.
    :param max_bytes: the largest size of a JSON string that is decoded; None for any size.
    """
    if isinstance(raw, dict):
        action, cluster = raw.get('action'), raw.get('cluster')
        target, action, cluster = raw.get('target'), _object(action), _object(cluster)
    elif isinstance(raw, str):
        keys = _decoded(raw.encode(errors='replace'), _Keys, max_bytes) or _Keys()
        target = keys.target
        action, cluster = (_decoded(bytes(one), _Object) for one in (keys.action, keys.cluster))
    else:
        return ''
    words = []
    if action:
        words += [*map(_word, (target, action.action)), _id(action.id)]
    if cluster and (name := _id(cluster.id)):
        words += ['of cluster' if any(words) else 'Cluster', name]
    text = ' '.join(filter(None, words))
    return f'{text}: ' if text else ''


def _decoded(encoded: bytes, kind: type[T], max_bytes: int | None = None) -> T | None:
    try:
        return codec.decode_encoded(encoded, kind, max_bytes)
    except InvalidRequest:
        return None


def _object(value: object) -> _Object | None:
    return _Object(value.get('id'), value.get('action')) if isinstance(value, dict) else None


def _word(value: object) -> str:
    return escaped(shortened(value)) if isinstance(value, str) else ''


def _id(value: object) -> str:
    return f'{value!r:.80}' if isinstance(value, str) else ''
