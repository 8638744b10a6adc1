"""The explanation of a deletion: rows of victims, spared nodes and protected nodes."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from placement_worker.contract.cluster import Node
from placement_worker.planning import victims
from placement_worker.policies.victim_selection import LocationOf

NODES_SHOWN = 10
"""The number of spared nodes, and of protected nodes, in the details of a decision."""
KEPT = 'chosen by an earlier policy'
NAMED = 'named by the action'
"""The reasons of victims that this policy did not choose."""


def spared(node_ids: Iterable[str], reason: str) -> list[dict[str, Any]]:
    """Return the rows of victims that do not leave after all.

    They have the keys `id` and `reason` of the rows of all spared nodes.
    """
    return [{'id': node_id, 'reason': reason} for node_id in node_ids]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows that explain a choice of victims.

    :ivar kept: the victims that an earlier policy or the action chose; they have the first ranks.
    :ivar kept_reason: `KEPT` or `NAMED`.
    :ivar location_of: returns the zone, the region or both of a node.
    """

    criteria: victims.Criteria
    kept: Sequence[Node]
    kept_reason: str
    choice: victims.Choice
    location_of: LocationOf

    def of_choice(self, is_full: bool) -> dict[str, Any]:
        """Return the reasons with their counts and, in full, the ranked nodes."""
        of_kept = {self.kept_reason: len(self.kept)} if self.kept else {}
        reasons = {**of_kept, **victims.reason_counts(self.choice, self.criteria)}
        if not is_full:
            return {'reasons': reasons}
        chosen = [*self.kept, *self.choice.victims]
        first_spared = self.choice.spared[:NODES_SHOWN]
        return {
            'reasons': reasons,
            'victims': [self._row(rank, node) for rank, node in enumerate(chosen, 1)],
            'spared': [
                self._row(rank, node) for rank, node in enumerate(first_spared, len(chosen) + 1)
            ],
        }

    def of_protected(self, nodes: Iterable[Node], is_full: bool) -> dict[str, Any]:
        """Return the number of protected nodes and, in full, the first ones.

        :param nodes: all nodes of the cluster.
        """
        protections = self.choice.protected
        if not protections:
            return {}
        if not is_full:
            return {'protected': len(protections)}
        known = {node.id: node for node in nodes}
        rows = [
            {'id': node_id, 'place': self._place(known[node_id]), **one.details}
            for node_id, one in itertools.islice(protections.items(), NODES_SHOWN)
        ]
        return {'protected': len(protections), 'protected_nodes': rows}

    def _row(self, rank: int, node: Node) -> dict[str, Any]:
        is_kept = rank <= len(self.kept)
        is_victim = rank <= len(self.kept) + len(self.choice.victims)
        return {
            'rank': rank,
            'id': node.id,
            'place': self._place(node),
            'reason': self.kept_reason if is_kept else self._reason(node, is_victim),
            'status': node.status,
            'tainted': node.tainted,
        }

    def _reason(self, node: Node, is_victim: bool) -> str:
        place = self._place(node) if is_victim else ''
        return victims.reason(node, self.criteria, self.choice.unplaced, place)

    def _place(self, node: Node) -> str:
        return '/'.join(self.location_of(node))
