"""What a worker tells of its work to whoever counts it; nobody, unless an operator asks for
metrics.

An observer takes no time to speak of and does not raise. All durations are in seconds.
"""

from typing import Protocol


class Traffic(Protocol):
    """Hears of the requests of one topic."""

    def begun(self) -> None:
        """A thread begins to work on one."""

    def ended(self) -> None:
        """Its reply is out, or somebody else has to have it."""

    def redelivered(self) -> None:
        """One came that the broker had delivered before, here or elsewhere."""

    def put_aside(self, parked: bool) -> None:
        """One that came too often was put aside: parked, or else among the suspects."""


class Observer(Protocol):
    """Hears of what is decided, and of the calls that it takes."""

    def traffic(self, topic: str) -> Traffic:
        """Who hears of the requests of a topic."""

    def check_ended(
        self, phase: str, action: str, outcome: str, elapsed_s: float, request_id: str | None
    ) -> None:
        """A check was answered.

        :param outcome: OK or ERROR, as its reply says.
        """

    def policy_consulted(self, policy_type: str, outcome: str, elapsed_s: float) -> None:
        """A check asked a policy.

        :param policy_type: name and version.
        :param outcome: APPLIED, SKIPPED or FAILED.
        """

    def binding_ended(
        self, method: str, policy_type: str, outcome: str, elapsed_s: float, request_id: str | None
    ) -> None:
        """A policy was attached or detached, or could not be.

        :param method: policy_attach or policy_detach.
        :param outcome: OK or ERROR, as its reply says.
        """

    def request_failed(self, method: str, error: str) -> None:
        """A request got an error for its reply.

        :param error: the class that the caller sees.
        """

    def cloud_called(self, service: str, operation: str, outcome: str, elapsed_s: float) -> None:
        """The cloud was asked something.

        :param service: e.g. compute.
        :param outcome: OK, or what went wrong: the class of the error, or the status of HTTP.
        """

    def load_balancer_updated(self) -> None:
        """A load balancer was changed, and was pending for it."""

    def load_balancer_retried(self) -> None:
        """What did not go well with a load balancer is tried once more."""

    def load_balancer_conflicted(self, waited_s: float) -> None:
        """A load balancer that refused a change, as another one was pending (409), was waited
        for.
        """


class Unheard:
    """As `Traffic`; hears nothing."""

    def begun(self) -> None:
        """As `Traffic.begun`."""

    def ended(self) -> None:
        """As `Traffic.ended`."""

    def redelivered(self) -> None:
        """As `Traffic.redelivered`."""

    def put_aside(self, parked: bool) -> None:
        """As `Traffic.put_aside`."""


class Nobody:
    """As `Observer`; hears nothing."""

    def traffic(self, topic: str) -> Traffic:
        """As `Observer.traffic`."""
        return Unheard()

    def check_ended(
        self, phase: str, action: str, outcome: str, elapsed_s: float, request_id: str | None
    ) -> None:
        """As `Observer.check_ended`."""

    def policy_consulted(self, policy_type: str, outcome: str, elapsed_s: float) -> None:
        """As `Observer.policy_consulted`."""

    def binding_ended(
        self, method: str, policy_type: str, outcome: str, elapsed_s: float, request_id: str | None
    ) -> None:
        """As `Observer.binding_ended`."""

    def request_failed(self, method: str, error: str) -> None:
        """As `Observer.request_failed`."""

    def cloud_called(self, service: str, operation: str, outcome: str, elapsed_s: float) -> None:
        """As `Observer.cloud_called`."""

    def load_balancer_updated(self) -> None:
        """As `Observer.load_balancer_updated`."""

    def load_balancer_retried(self) -> None:
        """As `Observer.load_balancer_retried`."""

    def load_balancer_conflicted(self, waited_s: float) -> None:
        """As `Observer.load_balancer_conflicted`."""
