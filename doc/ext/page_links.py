"""Names of other pages become links: pages are read as text, too, where ````delivery.rst```` says
more than a role.
"""

import re

from sphinx.application import Sphinx

NAMED = re.compile(r'``(?:doc/source/)?([a-z-]+)\.rst``')


def link(app: Sphinx, _page: str, source: list[str]) -> None:
    """In a page's text, before it is parsed; names of what is no page stay as they are."""
    known = app.env.found_docs
    source[0] = NAMED.sub(
        lambda found: f':doc:`{found[1]}`' if found[1] in known else found[0], source[0]
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Make Sphinx ask for each page."""
    app.connect('source-read', link)
    return {'parallel_read_safe': True}
