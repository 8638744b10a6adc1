"""How Sphinx makes the release notes; `tox -e releasenotes` runs it, and a warning is an error."""

project = 'placement-worker'
project_copyright = 'the authors of placement-worker'
extensions = ['openstackdocstheme', 'reno.sphinxext']
html_theme = 'openstackdocs'
openstackdocs_repo_name = ''
openstackdocs_auto_name = False
openstackdocs_auto_version = False
