"""Print which roles the default policies of a service accept; runs in the services' environment.

The arguments are the name of the service and the names of rules. The output is JSON: rule -> role
-> whether a user with this role, and those that it implies, may do it in the user's own project.
"""

import json
import sys
from importlib.metadata import entry_points

from oslo_config import cfg
from oslo_policy import policy

# Keystone's bootstrap creates these implications.
ROLES = {
    'any': ['unrelated'],
    'reader': ['reader'],
    'member': ['reader', 'member'],
    'admin': ['reader', 'member', 'manager', 'admin'],
}
OWNER = {'project_id': 'p', 'tenant_id': 'p', 'user_id': 'u'}


def enforcer(service: str) -> policy.Enforcer:
    """Return an enforcer with the defaults of a service, and without its files."""
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    made = policy.Enforcer(conf)
    (found,) = entry_points(group='oslo.policy.policies', name=service)
    made.register_defaults(found.load()())
    return made


def allowed(enforcing: policy.Enforcer, rule: str, roles: list[str]) -> bool:
    """Return whether a user with these roles may do this to an object of the own project."""
    is_admin = 'admin' in roles  # as Nova and Octavia set it from `context_is_admin`
    credentials = {**OWNER, 'roles': roles, 'is_admin': is_admin}
    return bool(enforcing.authorize(rule, OWNER, credentials))


def main() -> None:
    service, *rules = sys.argv[1:]
    enforcing = enforcer(service)
    found = {
        rule: {role: allowed(enforcing, rule, roles) for role, roles in ROLES.items()}
        for rule in rules
    }
    sys.stdout.write(json.dumps(found))


if __name__ == '__main__':
    main()
