"""Permissions that the upgrade check judges; of another user, by root:
tests/manual/test_installation.py.
"""

import os
import pwd

import pytest
from oslo_log import log
from oslo_upgradecheck.upgradecheck import Code

from placement_worker import config
from placement_worker.cmd import permissions
from placement_worker.errors import ConfigurationError
from tests.config_files import Options


@pytest.fixture
def check(tmp_path):
    """Return a function that judges a configuration in which {folder} stands for a folder of the
    test.
    """

    def judged(text):
        (tmp_path / 'w.conf').write_text(text.format(folder=tmp_path))
        conf = Options()
        config.register(conf)
        log.register_options(conf)
        conf(['--config-file', str(tmp_path / 'w.conf')])
        return permissions.check(conf)

    return judged


@pytest.mark.parametrize(
    'text',
    [
        '',
        '[DEFAULT]\nlog_file = w.log\nlog_dir = {folder}\n[worker]\nliveness_file = '
        '{folder}/liveness\n',
        '[decision_log]\nfile = {folder}/d.jsonl\n[metrics]\nport = 9100\nfolder = '
        '{folder}/metrics\n',
    ],
)
def test_files_in_a_writable_folder_pass(check, text):
    """The result names the user whose permissions were judged."""
    result = check(text)

    assert (result.code, result.details) == (
        Code.SUCCESS,
        f'Checked the permissions of user {permissions.own_name()}',
    )


def test_a_folder_that_the_unit_may_make_is_a_warning(check):
    """/run/placement-worker does not exist before the first start."""
    result = check('[worker]\nliveness_file = {folder}/run/liveness\n')

    assert result.code == Code.WARNING
    assert result.details.startswith('[worker] liveness_file: folder ')
    assert 'RuntimeDirectory=' in result.details


def test_a_folder_that_nobody_makes_fails(check):
    """A path of which two folders are missing is a slip."""
    result = check('[decision_log]\nfile = {folder}/no/such/d.jsonl\n')

    assert result.code == Code.FAILURE
    assert '[decision_log] file: user ' in result.details


def test_a_folder_as_the_log_file_fails(check, tmp_path):
    """A worker cannot open a folder as its log."""
    result = check('[DEFAULT]\nlog_file = {folder}\n')

    assert result.code == Code.FAILURE
    assert result.details == f'[DEFAULT] log_file: {tmp_path} is a folder; name a file in it'


def test_the_permissions_of_an_unknown_user_cannot_be_judged():
    """A slip in --user is an error, not a check as root."""
    with pytest.raises(ConfigurationError, match=r"Unknown user 'no\\x1bbody'; correct --user"):
        permissions.become('no\x1bbody')


def test_the_own_user_needs_no_rights_of_root():
    """An unprivileged user may name itself in --user."""
    before = os.getresuid()

    permissions.become(pwd.getpwuid(os.geteuid()).pw_name)

    assert os.getresuid() == before
