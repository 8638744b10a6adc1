"""Turn the names of other pages into links.

People also read the sources of the pages, where ````delivery.rst```` is clearer than a role.
"""

import re

from sphinx.application import Sphinx

NAMED = re.compile(r'``(?:doc/source/)?([a-z-]+)\.rst``')


def link(app: Sphinx, _page: str, source: list[str]) -> None:
    """Replace the names of pages in the source of a page; keep other names."""
    known = app.env.found_docs
    source[0] = NAMED.sub(
        lambda found: f':doc:`{found[1]}`' if found[1] in known else found[0], source[0]
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the replacement."""
    app.connect('source-read', link)
    return {'parallel_read_safe': True}
