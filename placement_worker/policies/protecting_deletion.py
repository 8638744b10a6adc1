"""Version 1.2 of the deletion policy: a choice of what protected nodes do to a deletion."""

from typing_extensions import override

from placement_worker.contract import actions
from placement_worker.contract.model import CheckRequest, SupportStatus
from placement_worker.policies import victim_selection
from placement_worker.policies.base import BEFORE, Outcome, State, on, skipped
from placement_worker.policies.deletion import Deletion
from placement_worker.policies.deletion_properties import ProtectingDeletionProperties


class ProtectingDeletion(Deletion):
    """Choose the nodes to delete, and check that no node to be replaced is protected."""

    versions = {**Deletion.versions, '1.2': ProtectingDeletionProperties}
    support_status = {**Deletion.support_status, '1.2': [SupportStatus('SUPPORTED', '2026.11')]}
    targets = Deletion.targets | on(BEFORE, actions.CLUSTER_REPLACE_NODES)
    properties: ProtectingDeletionProperties

    @override
    def check(self, request: CheckRequest, state: State) -> Outcome:
        if request.action.action != actions.CLUSTER_REPLACE_NODES:
            return super().check(request, state)
        replaced = list(request.action.replace_inputs.candidates)
        victim_selection.check_deletable(replaced, request, state)
        return skipped('No node to be replaced is protected.')

    @property
    @override
    def _is_strict(self) -> bool:
        return self.properties.protection == 'strict'
