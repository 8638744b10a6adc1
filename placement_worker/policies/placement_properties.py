"""The properties that both placement policies have since version 1.1."""

from msgspec import Struct

from placement_worker.policies.on_shortage import OnShortage
from placement_worker.policies.spread import Spread


class PlacementProperties(Struct, frozen=True, forbid_unknown_fields=True):
    """The base class of the properties of version 1.0, which does not have them.

    The properties of version 1.1 replace these attributes by fields.
    """

    @property
    def spread(self) -> Spread | None:
        """The tolerated skew; None for any."""
        return None

    @property
    def on_shortage(self) -> OnShortage | None:
        """The reaction to a lack of capacity; None for nothing."""
        return None

    @property
    def redistribution(self) -> OnShortage | None:
        """The delays of `on_shortage`; None if shortages have no effect."""
        found = self.on_shortage
        return found if found is not None and found.mode == 'redistribute' else None
