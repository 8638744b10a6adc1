"""A policy type that creates nodes in some zones only."""

from collections import Counter
from typing import Annotated

from msgspec import Meta, Struct

from placement_worker.contract.model import CheckRequest
from placement_worker.errors import Rejected
from placement_worker.policies.base import BEFORE, Outcome, Policy, State, on, skipped


class Zones(Struct, frozen=True, forbid_unknown_fields=True):
    """Properties of example.policy.only_zones-1.0."""

    zones: Annotated[list[str], Meta(min_length=1, description='Zones that get nodes.')]


class OnlyZones(Policy[Zones]):
    """Move planned nodes out of all other zones."""

    interface = (2, 0)
    name = 'example.policy.only_zones'
    versions = {'1.0': Zones}
    priority = 350
    after = frozenset({'senlin.policy.zone_placement'})
    targets = on(BEFORE, 'CLUSTER_SCALE_OUT', 'CLUSTER_RESIZE')
    profile_types = frozenset({'os.nova.server-1.0'})

    def check(self, request: CheckRequest, state: State) -> Outcome:
        size = state.size(request)
        if size.kind != 'creation' or not size.count:
            return skipped('No node is to be created.')
        usable = self.usable(request, state)
        if not usable:
            raise Rejected('No zone of the policy is available.')
        planned = state.data.get('placement', {}).get('placements') or [{}] * size.count
        held = Counter(state.cloud.zones_of(request.cluster.nodes))
        held.update(entry.get('zone') for entry in planned)
        entries = []
        for entry in planned:
            zone = entry.get('zone')
            if zone not in usable:
                zone = min(usable, key=lambda name: (held[name], name))
                held[zone] += 1
            entries.append({**entry, 'zone': zone})
        zones = dict(Counter(entry['zone'] for entry in entries))
        data = state.action_data.planned('creation', size.count, {'zones': zones}, entries)
        return Outcome('APPLIED', f'Nodes in {", ".join(sorted(zones))}', data=data)

    def usable(self, request: CheckRequest, state: State) -> list[str]:
        region = request.cluster.profile.region
        known = state.cloud.zones(region)
        home = region or state.cloud.home_region
        return [
            zone
            for zone in self.properties.zones
            if known.get(zone) and not any(cordon.covers(home, zone) for cordon in state.cordons)
        ]
