"""Serve the API of Heat: serve_api.py PORT CONFIGURATION."""

import sys
import warnings

import waitress

warnings.filterwarnings('ignore')
port, configuration = sys.argv[1:]
sys.argv = ['heat-api', '--config-file', configuration]

from heat.wsgi.api import application  # noqa: E402  it reads the arguments when it is imported

waitress.serve(application, host='127.0.0.1', port=int(port), threads=8, ident=None)
