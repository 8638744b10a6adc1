"""The liveness file as a probe of a container reads it.

A probe runs every few seconds and must respond quickly, so this module imports the standard library
only.
"""

import datetime
import json
from collections.abc import Iterator, Mapping
from typing import Any


def failure(
    file: str, max_age_s: float, now: datetime.datetime, *, ready: bool = False
) -> str | None:
    """Return the reason why the worker of a liveness file is not alive or not ready, or None.

    :param max_age_s: the greatest age of the file in seconds. A file from as far in the future
        fails as well: the clock was set back.
    """
    try:
        with open(file, encoding='utf-8') as opened:
            state = json.load(opened)
        age_s = (now - datetime.datetime.fromisoformat(state['checked_at'])).total_seconds()
        unmet = next(_unmet(state, ready), None)
    except FileNotFoundError as exc:
        return (
            f'{file}: {exc.strerror}: placement-worker is not running or has not reached its '
            'broker yet, or its [worker] liveness_file names another file'
        )
    except OSError as exc:
        return f'{file}: {exc.strerror}; name a readable file, that of [worker] liveness_file'
    except (ValueError, KeyError, TypeError, AttributeError):
        return f'{file} is not a liveness file of placement-worker'
    if age_s < -max_age_s:
        return f'{file} has a time {-age_s:.0f} s in the future; check the clock of this host'
    if age_s > max_age_s:
        return f'{file} was written {age_s:.0f} s ago (limit {max_age_s:g} s)'
    return unmet


def _unmet(state: Mapping[str, Any], ready: bool) -> Iterator[str]:
    questions = [('alive', 'reasons'), ('ready', 'missing')]
    for name, key in questions[: 1 + ready]:
        reasons = '; '.join(state.get(key, []))
        if state[name] is not True:
            yield f'The worker is not {name}: {reasons or "no reason given"}'
