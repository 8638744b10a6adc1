"""The guru meditation report: what all threads do, and the options, on standard error when SIGUSR2
comes.
"""

import re
from importlib import metadata

from oslo_config import cfg
from oslo_reports import guru_meditation_report

SECRET = re.compile(r'(?<=://)[^/\s]*@')
"""User and password of a URL; the options that hold one are secret to oslo.config, what is printed
is searched too.
"""


class Version:
    """The package, as oslo.reports asks for it."""

    def __init__(self, package: str) -> None:
        self._package = package

    def vendor_string(self) -> str:
        """Who made it."""
        return 'OpenStack'

    def product_string(self) -> str:
        """Its name."""
        return self._package

    def version_string_with_package(self) -> str:
        """Its version."""
        return metadata.version(self._package)


class Report(guru_meditation_report.TextGuruMeditation):
    """The report without secrets."""

    def run(self) -> str:
        """The text."""
        return SECRET.sub('***@', super().run())


def setup(conf: cfg.ConfigOpts, program: str) -> None:
    """Report on SIGUSR2 from now on, in this process and in those that it forks."""
    Report.setup_autorun(Version(program), service_name=program, conf=conf)
