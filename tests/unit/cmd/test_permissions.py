"""Permissions that the upgrade check judges; of another user, by root:
tests/manual/test_installation.py.
"""

import os
import pwd
import re
from pathlib import Path

import pytest
from oslo_log import log
from oslo_upgradecheck.upgradecheck import Code

from placement_worker.cmd import permissions
from placement_worker.config import options
from placement_worker.errors import ConfigurationError
from tests.config_files import Options

ROOT = Path(__file__).parents[3]


@pytest.fixture
def check(tmp_path):
    """Return a function that judges a configuration in which {folder} stands for a folder of the
    test.
    """

    def judged(text):
        (tmp_path / 'w.conf').write_text(text.format(folder=tmp_path))
        conf = Options()
        options.register(conf)
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


def test_a_folder_that_the_unit_creates_is_a_warning(check, tmp_path, monkeypatch):
    """/run/placement-worker does not exist before the first start."""
    monkeypatch.setattr(permissions, 'UNIT_FOLDERS', (str(tmp_path / 'run'),))

    result = check(
        '[DEFAULT]\nlog_file = {folder}/run/log\n'
        '[metrics]\nport = 9100\nfolder = {folder}/run/metrics\n'
    )

    ending = f'folder {tmp_path}/run does not exist; placement-worker.service creates it'
    assert (result.code, result.details) == (
        Code.WARNING,
        f'[DEFAULT] log_file: {ending}; [metrics] folder: {ending}',
    )


def test_folders_that_the_unit_creates_are_those_of_the_check():
    """The check excuses a missing folder only if the unit creates it."""
    unit = (ROOT / 'conf' / 'placement-worker.service').read_text()
    created = dict(re.findall('(RuntimeDirectory|LogsDirectory)=(.+)', unit))

    folders = (f'/run/{created["RuntimeDirectory"]}', f'/var/log/{created["LogsDirectory"]}')
    assert folders == permissions.UNIT_FOLDERS


@pytest.mark.parametrize(
    ('text', 'option', 'code'),
    [
        ('[decision_log]\nfile = {folder}/no/d\n', '[decision_log] file', Code.FAILURE),
        ('[decision_log]\nfile = {folder}/no/such/d\n', '[decision_log] file', Code.FAILURE),
        ('[DEFAULT]\nlog_file = {folder}/no/log\n', '[DEFAULT] log_file', Code.FAILURE),
        ('[DEFAULT]\nlog_dir = {folder}/no\n', '[DEFAULT] log_dir', Code.FAILURE),
        ('[worker]\nliveness_file = {folder}/no/f\n', '[worker] liveness_file', Code.WARNING),
        ('[oslo_reports]\nlog_dir = {folder}/no\n', '[oslo_reports] log_dir', Code.WARNING),
    ],
)
def test_a_folder_that_nobody_creates_fails_if_a_start_needs_it(check, text, option, code):
    """The exit status is 2 if the worker does not start, and 1 if it starts without the file."""
    result = check(text)

    assert result.code == code
    assert result.details.startswith(f'{option}: folder ')
    assert ' does not exist, or user ' in result.details


def test_a_folder_of_metrics_in_missing_folders_passes(check):
    """A worker creates this folder, those above it included."""
    assert check('[metrics]\nport = 9100\nfolder = {folder}/a/b/c\n').code == Code.SUCCESS


def test_files_that_fail_and_files_that_warn_are_named_at_once(check):
    """An operator repairs all files after one run of the check."""
    result = check(
        '[decision_log]\nfile = {folder}/no/d.jsonl\n'
        '[worker]\nliveness_file = {folder}/no/liveness\n'
    )

    assert result.code == Code.FAILURE
    assert result.details.startswith('[decision_log] file: folder ')
    assert '; [worker] liveness_file: folder ' in result.details


@pytest.mark.parametrize('option', ['[DEFAULT] log_file', '[decision_log] file'])
def test_a_folder_in_place_of_a_file_fails(check, tmp_path, option):
    """A worker cannot open a folder as its log or decision log."""
    result = check(f'{option.replace(" ", chr(10))} = {{folder}}\n')

    assert (result.code, result.details) == (
        Code.FAILURE,
        f'{option}: {tmp_path} is a folder; name a file in it',
    )


def test_the_permissions_of_an_unknown_user_cannot_be_judged():
    """A slip in --user is an error, not a check as root."""
    with pytest.raises(ConfigurationError, match=r"Unknown user 'no\\x1bbody'; correct --user"):
        permissions.become('no\x1bbody')


def test_the_own_user_needs_no_rights_of_root():
    """An unprivileged user may name itself in --user."""
    before = os.getresuid()

    permissions.become(pwd.getpwuid(os.geteuid()).pw_name)

    assert os.getresuid() == before
