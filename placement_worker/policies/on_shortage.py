"""The property `on_shortage` of the placement policies: the reaction to a lack of capacity."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from placement_worker.planning.shortage import Backoff

LONGEST_S = 7 * 24 * 3600


class OnShortage(Struct, frozen=True, forbid_unknown_fields=True):
    """The effect of a lack of capacity, and the delays between attempts."""

    mode: Annotated[
        Literal['redistribute', 'ignore'],
        Meta(
            description='Whether nodes go to other places while a place is short of capacity '
            '(redistribute), or shortages have no effect (ignore).'
        ),
    ] = 'redistribute'
    initial_s: Annotated[
        int,
        Meta(
            ge=1,
            le=LONGEST_S,
            description='Seconds without new nodes in a place after its first failed attempt; '
            'each further attempt that fails doubles them.',
        ),
    ] = 300
    max_s: Annotated[
        int,
        Meta(
            ge=1,
            le=LONGEST_S,
            description='Maximum number of seconds without new nodes after a failed attempt.',
        ),
    ] = 3600

    def __post_init__(self) -> None:
        if self.max_s < self.initial_s:
            raise ValueError(
                f'Expected `max_s` >= `initial_s`, got `{self.max_s}` < `{self.initial_s}`'
            )

    @property
    def backoff(self) -> Backoff:
        """The delays between attempts."""
        return Backoff(self.initial_s, self.max_s)


OnShortageProperty = Annotated[
    OnShortage, Meta(description='Reaction to a lack of capacity in a place. New in 1.1.')
]
