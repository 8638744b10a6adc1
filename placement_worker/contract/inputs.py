"""Typed inputs of the actions whose inputs the policies read.

A Struct is decoded when a policy first reads it. An invalid value therefore fails only the checks
that depend on it.

:source: senlin/conductor/service.py and senlin/engine/actions of Senlin 16.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Literal, Self, get_args

from msgspec import Struct

from placement_worker.contract import values
from placement_worker.errors import InvalidInput
from placement_worker.formats.text import did_you_mean, listed, shortened

PATH = '$.action.inputs'

Adjustment = Literal['EXACT_CAPACITY', 'CHANGE_IN_CAPACITY', 'CHANGE_IN_PERCENTAGE']


class ScaleInputs(Struct, frozen=True):
    count: int = 1

    @classmethod
    def of(cls, inputs: Mapping[str, Any]) -> Self:
        return cls(values.natural(inputs.get('count', 1), f'{PATH}.count'))


class ResizeInputs(Struct, frozen=True):
    """Inputs of CLUSTER_RESIZE; the engine sends null for what the user did not give.

    `number` is read only if there is an `adjustment_type`. It is an integer, except that
    CHANGE_IN_PERCENTAGE also allows a fraction. A resize that names nodes and has no
    `adjustment_type` removes these nodes.
    """

    adjustment_type: Adjustment | None = None
    number: int | float | None = None
    min_size: int | None = None
    max_size: int | None = None
    min_step: int = 0
    strict: bool = False

    @classmethod
    def of(cls, inputs: Mapping[str, Any]) -> Self:
        min_size = _or_none(inputs, 'min_size', values.natural)
        max_size = _or_none(inputs, 'max_size', values.integer)
        strict = _strict(inputs)
        min_step = _or_none(inputs, 'min_step', values.natural) or 0
        adjustment = _adjustment(inputs)
        number = None if adjustment is None else _number(inputs, adjustment)
        named = CandidateInputs.of(inputs).candidates
        if adjustment is None and named:
            adjustment, number = 'CHANGE_IN_CAPACITY', -len(named)
        return cls(adjustment, number, min_size, max_size, min_step, strict)


class CandidateInputs(Struct, frozen=True):
    """The nodes that an action names, in order; None if it leaves the choice to the policies."""

    candidates: list[str] | None = None

    @classmethod
    def of(cls, inputs: Mapping[str, Any]) -> Self:
        """Decode the inputs of an action; of a map (old id -> new id) the keys count."""
        named = inputs.get('candidates')
        if named is None:
            return cls()
        if not isinstance(named, (list, dict)):
            kind = values.value_text(named)
            raise InvalidInput(f'Expected `array` or `object`, got {kind} - at `{PATH}.candidates`')
        return cls(values.node_ids(list(named), f'{PATH}.candidates'))

    def required(self) -> list[str]:
        if self.candidates is None:
            raise InvalidInput(f'Expected the nodes to delete, got none - at `{PATH}.candidates`')
        return self.candidates


class ReplaceInputs(Struct, frozen=True):
    """Inputs of CLUSTER_REPLACE_NODES: old node id -> new node id."""

    candidates: dict[str, str]

    @classmethod
    def of(cls, inputs: Mapping[str, Any]) -> Self:
        path = f'{PATH}.candidates'
        named = values.mapping(inputs.get('candidates'), path, ' (old node id: new node id)')
        values.node_ids(list(named.values()), path)
        return cls(named)


def _or_none(
    inputs: Mapping[str, Any], key: str, checked: Callable[[object, str], int]
) -> int | None:
    value = inputs.get(key)
    return None if value is None else checked(value, f'{PATH}.{key}')


def _strict(inputs: Mapping[str, Any]) -> bool:
    strict = inputs.get('strict')
    if not isinstance(strict, bool | None):
        raise InvalidInput(f'Expected `bool`, got {values.value_text(strict)} - at `{PATH}.strict`')
    return bool(strict)


def _adjustment(inputs: Mapping[str, Any]) -> Adjustment | None:
    adjustment: Adjustment | None = inputs.get('adjustment_type')
    known = get_args(Adjustment)
    if adjustment is not None and adjustment not in known:
        raise InvalidInput(
            f'Expected one of {", ".join(f"`{name}`" for name in known)}, '
            f'got {values.value_text(adjustment)} - at `{PATH}.adjustment_type`'
        )
    return adjustment


def _number(inputs: Mapping[str, Any], adjustment: Adjustment) -> int | float:
    number, path = inputs.get('number'), f'{PATH}.number'
    if adjustment == 'CHANGE_IN_PERCENTAGE':
        return values.number(number, path, 'a number of percent')
    return values.integer(number, path)


_POLICY = ('policy_id', 'enabled')
_RECOVERY = ('operation', 'operation_params', 'check')

# Keys of every action, which the engine adds: its result, and when the policy last ran.
COMMON_KEYS = ('action_result', 'last_op')

# Each action of Senlin -> its own keys; None if it passes on any key of a user or of a config.
KEYS_BY_ACTION: Mapping[str, tuple[str, ...] | None] = {
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


def unknown_inputs(action: str, inputs: Iterable[str], declared: Collection[str] = ()) -> list[str]:
    """Return the keys of an action's inputs that neither Senlin nor a policy type knows.

    :param declared: the keys that policy types of plugins read in addition.
    """
    own = KEYS_BY_ACTION.get(action)
    if own is None:
        return []
    return [key for key in inputs if key not in {*own, *COMMON_KEYS, *declared}]


def describe_unknown(action: str, keys: Collection[str], declared: Collection[str] = ()) -> str:
    meant = (*(KEYS_BY_ACTION.get(action) or ()), *COMMON_KEYS, *sorted(declared))
    keys = listed(map(shortened, keys), lambda key: json.dumps(key) + did_you_mean(key, meant, '"'))
    return f'Unknown input of {action}: {keys}'
