"""The members of a group, as Heat lists them."""

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

FAILED, CREATE, CHECK = 'FAILED', 'CREATE', 'CHECK'
"""A status and two actions of Heat's resources.

A resource that failed in one of these actions is always created again.

:source: `_needs_update` in heat/engine/resource.py, of Heat 27.
"""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group.

    :ivar zone: the availability zone in its definition; None if it has none.
    :ivar failed: whether its last action failed, and `reason` is the cause.
    :ivar needs_zone: whether Heat creates it again, for which another zone may be better.
    :ivar is_outdated: whether its definition differs from the current one of the group, apart from
        the zone.
    """

    name: str
    zone: str | None
    failed: bool = False
    reason: str | None = None
    needs_zone: bool = False
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    is_outdated: bool = False


def from_rows(
    names: Iterable[str],
    rows: Iterable[Mapping[str, Any]],
    zone_of: Callable[[str], str | None],
    is_outdated: Callable[[str], bool],
) -> list[Member]:
    """Return the members in the order of the names.

    :param names: the names in Heat's own order of removal.
    :param rows: the resources of the nested stack; those with other names are ignored.
    """
    by_name = {row['resource_name']: row for row in rows}
    return [
        _member(name, by_name.get(name, {}), zone_of(name), is_outdated(name)) for name in names
    ]


def _member(name: str, row: Mapping[str, Any], zone: str | None, is_outdated: bool) -> Member:
    failed = row.get('resource_status') == FAILED
    return Member(
        name,
        zone,
        failed=failed,
        reason=(row.get('resource_status_reason') or None) if failed else None,
        needs_zone=failed and row.get('resource_action') in (CREATE, CHECK),
        created_at=_time(row.get('creation_time')),
        updated_at=_time(row.get('updated_time')),
        is_outdated=is_outdated,
    )


def _time(text: str | None) -> datetime.datetime | None:
    return datetime.datetime.fromisoformat(text) if text else None
