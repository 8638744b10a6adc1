"""Check that the trusts of engines name the service user of the workers as their trustee."""

from collections.abc import Sequence

from oslo_config import cfg
from oslo_upgradecheck.upgradecheck import Code, Result

from placement_worker.cmd import unknown_options
from placement_worker.config.options import SERVICE_AUTH
from placement_worker.errors import ConfigurationError
from placement_worker.formats.text import escaped

TRUSTEES = {'trustee': 'username', 'authentication': 'service_username'}
"""The option with the trustee by section: in the configuration of Heat, and in that of Senlin.

:source: heat/common/context.py of Heat 27 and senlin/conf/authentication.py of Senlin 16.
"""


def check(conf: cfg.ConfigOpts, engine_files: Sequence[str]) -> Result:
    """Compare the service user with the trustees of engines.

    The domains of the users are not compared: one may be given by its name, the other by its id.

    :param engine_files: the configuration files of the engines that the workers serve.
    :raises ConfigurationError: a file names no trustee.
    :raises cfg.Error: a file cannot be read.
    """
    user = _value(unknown_options.files(conf), SERVICE_AUTH, 'username')
    if user is None:
        return Result(
            Code.WARNING,
            f'[{SERVICE_AUTH}] has no username, so it cannot be compared with the trustees of '
            'engines',
        )
    wrong = [
        f'{file}: {option} is {escaped(trustee)}'
        for file in engine_files
        for option, trustee in [_trustee(file)]
        if trustee != user
    ]
    if not wrong:
        return Result(Code.SUCCESS, f'User {escaped(user)} is the trustee of each engine')
    return Result(
        Code.FAILURE,
        f'[{SERVICE_AUTH}] username is {escaped(user)}, but {"; ".join(wrong)}. A trust is valid '
        'for its trustee only: use one user for the workers and all of their engines, or run other '
        'workers for this engine',
    )


def _trustee(file: str) -> tuple[str, str]:
    """Return the option of an engine that names the trustee, and its value."""
    for section, option in TRUSTEES.items():
        trustee = _value([file], section, option)
        if trustee:
            return f'[{section}] {option}', trustee
    options = ' nor '.join(f'[{section}] {option}' for section, option in TRUSTEES.items())
    raise ConfigurationError(f'{file} has neither {options}; name the file of an engine')


def _value(files: Sequence[str], section: str, option: str) -> str | None:
    """Return a user name from a section of files, or from that which its auth_section names."""
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.StrOpt('auth_section'), group=section)
    conf([], default_config_files=list(files), default_config_dirs=[])
    found = conf[section].auth_section or section
    conf.register_opt(cfg.StrOpt(option, deprecated_name='user_name'), group=found)
    value: str | None = conf[found][option]
    return value
