"""Serve an API of Heat: serve_api.py heat-api|heat-api-cfn PORT CONFIGURATION."""

import importlib
import sys
import warnings

import waitress

warnings.filterwarnings('ignore')
MODULES = {'heat-api': 'heat.wsgi.api', 'heat-api-cfn': 'heat.wsgi.cfn'}
name, port, configuration = sys.argv[1:]
sys.argv = [name, '--config-file', configuration]
# a module reads the arguments when it is imported
module = importlib.import_module(MODULES[name])

waitress.serve(module.application, host='127.0.0.1', port=int(port), threads=8, ident=None)
