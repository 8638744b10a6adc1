"""How Sphinx makes the documentation; `tox -e docs` runs it, and a warning is an error."""

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / 'ext'))

project = 'placement-worker'
project_copyright = 'the authors of placement-worker'
release = version = metadata.version('placement-worker')

extensions = [
    'openstackdocstheme',
    'sphinx.ext.graphviz',
    'oslo_config.sphinxext',
    'reno.sphinxext',
    'cliff.sphinxext',
    'command_examples',
    'contract_reference',
    'policy_types',
    'exchange',
    'alert_table',
    'scroll_boxes',
    'name_links',
]
suppress_warnings = ['config.cache']  # the options' defaults that differ from machine to machine
if not (Path(__file__).parents[2] / '.git').exists():  # an sdist; reno reads the history of git
    exclude_patterns = ['release-notes.rst']
    suppress_warnings.append('toc.excluded')
highlight_language = (
    'none'  # a literal block is a command, a configuration or a reply; those that matter say which
)
nitpicky = True
graphviz_output_format = 'svg'
smartquotes_action = 'qe'  # two hyphens are an option's, and no dash

html_theme = 'openstackdocs'
html_static_path = ['_static']
html_css_files = ['manual.css']
html_js_files = [('scroll-boxes.js', {'defer': 'defer'})]
templates_path = ['_templates']
html_theme_options = {'analytics_tracking_code': '', 'display_badge': False}
openstackdocs_repo_name = ''
openstackdocs_auto_name = False
openstackdocs_auto_version = False

man_pages = [  # one page per program of setup.cfg
    (
        'man/placement-policy',
        'placement-policy',
        'place the nodes of clusters, in this process or by running workers',
        [project_copyright],
        1,
    ),
    (
        'man/placement-worker',
        'placement-worker',
        'reply to the policy checks of cluster engines',
        [project_copyright],
        1,
    ),
    (
        'man/placement-worker-status',
        'placement-worker-status',
        'probe a worker, or check that one can start',
        [project_copyright],
        1,
    ),
]
