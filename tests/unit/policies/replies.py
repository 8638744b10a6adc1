"""Parts of the replies to checks."""


def deleted(reply):
    """Return the ids of the victims."""
    return reply['action']['data']['deletion']['candidates']
