"""The keys that the inputs of an action may have; any other key is probably misspelled.

:source: senlin/conductor/service.py and senlin/engine/actions of Senlin 16.
"""

import difflib
import json
from collections.abc import Collection, Mapping

from placement_worker.contract.inputs import (
    CandidateInputs,
    ReplaceInputs,
    ResizeInputs,
    ScaleInputs,
)
from placement_worker.contract.model import Action
from placement_worker.formats.text import listed, shortened

_POLICY = ('policy_id', 'enabled')
_RECOVERY = ('operation', 'operation_params', 'check')

COMMON = ('action_result', 'last_op')
"""Keys of every action, which the engine adds: its result, and when the policy last ran."""

BY_ACTION: Mapping[str, tuple[str, ...] | None] = {
    'CLUSTER_CREATE': (),
    'CLUSTER_DELETE': (),
    'CLUSTER_UPDATE': ('name', 'metadata', 'timeout', 'config', 'new_profile_id', 'profile_only'),
    'CLUSTER_SCALE_OUT': ScaleInputs.__struct_fields__,
    'CLUSTER_SCALE_IN': (*ScaleInputs.__struct_fields__, *CandidateInputs.__struct_fields__),
    'CLUSTER_RESIZE': (*ResizeInputs.__struct_fields__, *CandidateInputs.__struct_fields__),
    'CLUSTER_ADD_NODES': ('nodes',),
    'CLUSTER_DEL_NODES': (*CandidateInputs.__struct_fields__, 'count', 'destroy_after_deletion'),
    'CLUSTER_REPLACE_NODES': ReplaceInputs.__struct_fields__,
    'CLUSTER_CHECK': None,
    'CLUSTER_RECOVER': (*_RECOVERY, 'check_capacity'),
    'CLUSTER_OPERATION': ('operation', 'params', 'nodes'),
    'CLUSTER_ATTACH_POLICY': _POLICY,
    'CLUSTER_DETACH_POLICY': ('policy_id',),
    'CLUSTER_UPDATE_POLICY': _POLICY,
    'NODE_CREATE': (),
    'NODE_DELETE': CandidateInputs.__struct_fields__,
    'NODE_UPDATE': None,
    'NODE_JOIN': ('cluster_id',),
    'NODE_LEAVE': (),
    'NODE_CHECK': None,
    'NODE_RECOVER': (*_RECOVERY, 'delete_timeout', 'force_recreate'),
    'NODE_OPERATION': ('operation', 'params', 'update_parent_status'),
}
"""Action -> its own keys; None if it passes on any key of a user or of a cluster's config."""


def unknown(action: Action, declared: Collection[str] = ()) -> list[str]:
    """Return the keys of the action's inputs that neither Senlin nor a policy type knows.

    :param declared: the keys that policy types of plugins read in addition.
    """
    own = BY_ACTION.get(action.action)
    if own is None:
        return []
    return [
        key for key in action.inputs if key not in own and key not in COMMON and key not in declared
    ]


def describe(action: Action, keys: Collection[str], declared: Collection[str] = ()) -> str:
    """Return a sentence that names the first unknown keys and the keys probably meant.

    :param declared: the keys that policy types of plugins read in addition.
    """
    meant = (*(BY_ACTION.get(action.action) or ()), *COMMON, *sorted(declared))
    shown = listed(keys, lambda key: _with_hint(shortened(key), meant))
    return f'Unknown input of {action.action}: {shown}'


def _with_hint(key: str, meant: Collection[str]) -> str:
    near = difflib.get_close_matches(key, meant, n=1)
    return json.dumps(key) + (f' (did you mean "{near[0]}"?)' if near else '')
