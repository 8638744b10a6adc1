"""The guru meditation report: stacks of all threads, the options and the requests in flight.

A worker writes it to standard error on SIGUSR2. A signal such as SIGSEGV, which ends the process,
leaves the stacks of its threads there.
"""

import faulthandler
import re
import sys
from importlib import metadata
from types import SimpleNamespace
from typing import Any

from oslo_config import cfg
from oslo_reports import guru_meditation_report
from typing_extensions import override

# User and password of a URL. oslo.config masks its secret options, but URLs occur elsewhere.
SECRET = re.compile(r'(?<=://)[^/\s]*@')


class Report(guru_meditation_report.TextGuruMeditation):
    """The report without user and password of URLs."""

    @override
    def run(self) -> str:
        return SECRET.sub('***@', super().run())


def version_of(package: str) -> Any:
    """Return the version of a package in the form that oslo.reports reads."""
    return SimpleNamespace(
        vendor_string=lambda: 'OpenStack',
        product_string=lambda: package,
        version_string_with_package=lambda: metadata.version(package),
    )


def setup(conf: cfg.ConfigOpts, program: str) -> None:
    """Report on SIGUSR2, and print stacks at a crash, here and in the processes to fork."""
    if sys.stderr:  # None if its descriptor is closed
        faulthandler.enable()
    Report.setup_autorun(version_of(program), service_name=program, conf=conf)
