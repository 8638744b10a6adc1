"""A mechanism driver of Neutron that binds ports on any host, without agents."""

from typing import Any

from neutron_lib import constants
from neutron_lib.api.definitions import portbindings
from neutron_lib.plugins.ml2 import api


class AnyHost(api.MechanismDriver):
    """A driver that binds ports to their first segment."""

    def initialize(self) -> None:
        """Do nothing; the interface requires it."""

    def bind_port(self, context: Any) -> None:
        """Bind the port and mark it as active."""
        context.set_binding(
            context.segments_to_bind[0][api.ID],
            portbindings.VIF_TYPE_OVS,
            {portbindings.CAP_PORT_FILTER: False},
            status=constants.PORT_STATUS_ACTIVE,
        )
