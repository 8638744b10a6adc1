"""Times as people read them."""

import datetime


def shown(moment: datetime.datetime) -> str:
    """Return a time in ISO 8601; midnight in UTC is shown as the day that begins then."""
    text = moment.isoformat(timespec='seconds').replace('+00:00', 'Z')
    return text.removesuffix('T00:00:00Z')
