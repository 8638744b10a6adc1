"""The properties of the deletion policy.

:source: senlin/policies/deletion_policy.py of Senlin 16
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from placement_worker.planning.victims import Criteria


class HookParams(Struct, frozen=True, forbid_unknown_fields=True):
    """The recipient of a hook's message."""

    queue: Annotated[str, Meta(description='Zaqar queue that receives the message.')] = ''
    url: Annotated[str, Meta(description='URL that receives the message.')] = ''


class Hooks(Struct, frozen=True, forbid_unknown_fields=True):
    """The message that the engine sends before it deletes a node; none by default."""

    type: Annotated[
        Literal['zaqar', 'webhook'], Meta(description='Type of the recipient of the message.')
    ] = 'zaqar'
    timeout: Annotated[
        int, Meta(ge=0, description='Seconds before the actual deletion happens.')
    ] = 0
    params: HookParams = HookParams()

    def __post_init__(self) -> None:
        if self.type == 'webhook' and not self.params.url:
            raise ValueError('Expected `params.url` for hooks of type `webhook`, got none')
        if self.type == 'zaqar' and not self.params.queue and (self.timeout or self.params.url):
            raise ValueError('Expected `params.queue` for hooks of type `zaqar`, got none')

    @property
    def configured(self) -> bool:
        """Whether there is a recipient."""
        return bool(self.params.queue or self.params.url)


class DeletionProperties(Struct, frozen=True, forbid_unknown_fields=True):
    """Properties of senlin.policy.deletion. Senlin accepts all of them in each version."""

    criteria: Annotated[Criteria, Meta(description='Which nodes are deleted first.')] = 'RANDOM'
    destroy_after_deletion: Annotated[
        bool, Meta(description='Whether a node is destroyed after it has left the cluster.')
    ] = True
    grace_period: Annotated[
        int, Meta(ge=0, description='Seconds before a node is actually deleted.')
    ] = 0
    reduce_desired_capacity: Annotated[
        bool, Meta(description="Whether the cluster's desired capacity shrinks with it.")
    ] = True
    hooks: Annotated[Hooks, Meta(description='Lifecycle hooks. New in 1.1.')] = Hooks()


class ProtectingDeletionProperties(DeletionProperties, frozen=True, forbid_unknown_fields=True):
    """Properties of senlin.policy.deletion-1.2."""

    protection: Annotated[
        Literal['best_effort', 'strict'],
        Meta(
            description='Whether fewer nodes are deleted (best_effort) or the action fails '
            '(strict) if too few nodes are not protected. New in 1.2.'
        ),
    ] = 'best_effort'
