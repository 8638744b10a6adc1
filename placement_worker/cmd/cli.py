"""placement-policy: the contract on the command line, for people and scripts."""

import logging
import sys
from importlib import metadata

from cliff import app, commandmanager

NAMESPACE = 'placement_worker.cli'


class PlacementPolicy(app.App):
    """The program; its commands are entry points."""

    NAME = 'placement-policy'
    DEFAULT_VERBOSE_LEVEL = 0  # warnings; -v for more

    def __init__(self) -> None:
        super().__init__(
            description='Decide where the nodes of a cluster go, here or by running workers.',
            version=metadata.version('placement-worker'),
            command_manager=commandmanager.CommandManager(NAMESPACE),
            deferred_help=True,
        )

    def configure_logging(self) -> None:
        """As cliff does; what stevedore cannot load comes back to us as an error, so it need not say it as well."""
        super().configure_logging()
        if not self.options.debug:
            logging.getLogger('stevedore').setLevel(logging.CRITICAL)

    def run(self, argv: list[str]) -> int:
        """Run one command; without any, show which there are."""
        status: int = super().run(argv or ['help'])
        return status


def main() -> int:
    """Run the command that the arguments name; the exit status is the command's."""
    return PlacementPolicy().run(sys.argv[1:])
