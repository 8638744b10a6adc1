"""The guru meditation report: stacks of all threads, the options and the requests in flight.

A worker writes it to standard error on SIGUSR2. A signal such as SIGSEGV, which ends the process,
leaves the stacks of its threads there.
"""

import faulthandler
import re
import sys
from importlib import metadata

from oslo_config import cfg
from oslo_reports import guru_meditation_report
from typing_extensions import override

# User and password of a URL. oslo.config masks its secret options, but URLs occur elsewhere.
SECRET = re.compile(r'(?<=://)[^/\s]*@')


class Version:
    """The version of a package in the form that oslo.reports reads."""

    def __init__(self, package: str) -> None:
        self._package = package

    def vendor_string(self) -> str:
        return 'OpenStack'

    def product_string(self) -> str:
        return self._package

    def version_string_with_package(self) -> str:
        return metadata.version(self._package)


class Report(guru_meditation_report.TextGuruMeditation):
    """The report without user and password of URLs."""

    @override
    def run(self) -> str:
        return SECRET.sub('***@', super().run())


def setup(conf: cfg.ConfigOpts, program: str) -> None:
    """Report on SIGUSR2, and print stacks at a crash, here and in the processes to fork."""
    if sys.stderr:  # None if its descriptor is closed
        faulthandler.enable()
    Report.setup_autorun(Version(program), service_name=program, conf=conf)
