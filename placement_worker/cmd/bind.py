"""placement-policy attach and detach."""

import argparse
from abc import abstractmethod

from placement_worker import errors
from placement_worker.cmd import hints, output
from placement_worker.cmd.base import INVALID, OK, SOME_ERROR, Command
from placement_worker.cmd.colors import Paint
from placement_worker.cmd.request_files import request_of
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import BindReply, BindRequest
from placement_worker.formats import documents


class Bind(Command):
    """What attaching and detaching have in common."""

    epilog = 'Exit status: 0 all are OK, 1 some ended in ERROR, 2 a request was invalid or no worker answered.'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Of these commands."""
        parser.add_argument(
            'files', metavar='FILE', nargs='+', help='requests, YAML or JSON; - for standard input'
        )
        parser.add_argument(
            '-f', '--format', choices=output.FORMATS, default='table', help='default: table'
        )

    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        """Do it for every request of every file; the exit status tells the worst outcome."""
        worst = OK
        for path in args.files:
            for number, document in enumerate(documents.read(path), start=1):
                try:
                    request = request_of(document, BindRequest)
                    reply = self.bind(caller, request)
                except errors.Refused as exc:
                    self.complain(f'{path}, document {number}: {hints.told(exc)}')
                    worst = INVALID
                else:
                    self.say(output.bond(reply, request, args.format, Paint.of(self.app.stdout)))
                    worst = max(worst, OK if reply.status == 'OK' else SOME_ERROR)
        return worst

    @abstractmethod
    def bind(self, caller: Caller, request: BindRequest) -> BindReply:
        """Have one policy attached or detached."""


class Attach(Bind):
    """Attach a policy to a cluster; for load balancing that makes the load balancer and adds all
    nodes.
    """

    examples = (
        'placement-policy attach request.yaml    # on an embedded cloud, to try it out',
        'placement-policy attach --config-file /etc/placement-worker/placement-worker.conf request.yaml',
    )

    def bind(self, caller: Caller, request: BindRequest) -> BindReply:
        """As `Bind.bind`."""
        return caller.policy_attach(request)


class Detach(Bind):
    """Detach a policy from a cluster; for load balancing that deletes what attaching made."""

    examples = (
        'placement-policy detach --config-file /etc/placement-worker/placement-worker.conf request.yaml',
        'placement-policy detach --timeout 600 --transport rabbit://user:password@host/ request.yaml',
    )

    def bind(self, caller: Caller, request: BindRequest) -> BindReply:
        """As `Bind.bind`."""
        return caller.policy_detach(request)
