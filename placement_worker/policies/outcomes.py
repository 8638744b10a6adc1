"""The results of policies; a wrong type raises an error where the policy creates the result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from placement_worker.contract.model import ClusterPatch, NodePatch

PROPERTIES = '$.spec.properties'
"""The path of the properties in a request with `check_resources`, for the texts of its errors."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The decision of a policy.

    :ivar reason: a sentence for operators.
    :ivar data: the whole new data of the action, or None if it stays the same.
    :ivar nodes: the patches of nodes, by node id.
    :ivar cluster: the patch of the cluster.
    :ivar details: values that explain the decision.
    :ivar warnings: sentences for the reply, the log and the command line.
    """

    outcome: Literal['APPLIED', 'SKIPPED']
    reason: str
    data: Mapping[str, Any] | None = None
    nodes: Mapping[str, NodePatch] = field(default_factory=dict)
    cluster: ClusterPatch | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    warnings: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.outcome not in ('APPLIED', 'SKIPPED'):
            raise TypeError(f"outcome must be 'APPLIED' or 'SKIPPED', got {self.outcome!r}")
        if not isinstance(self.reason, str):
            raise TypeError(f'reason must be a string, got {type(self.reason).__name__}')
        if self.data is not None:
            _check_map('data', self.data)
        _check_map('details', self.details)
        _check_types(self)


@dataclass(frozen=True, slots=True)
class BindingOutcome:
    """The result of attaching or detaching a policy.

    :ivar data: the whole new data of the binding.
    :ivar nodes: the patches of nodes, by node id.
    :ivar cluster: the patch of the cluster.
    :ivar warnings: sentences for the reply, the log and the command line.
    """

    data: Mapping[str, Any]
    nodes: Mapping[str, NodePatch] = field(default_factory=dict)
    cluster: ClusterPatch | None = None
    warnings: Sequence[str] = ()

    def __post_init__(self) -> None:
        _check_map('data', self.data)
        _check_types(self)


def _check_map(name: str, value: object) -> None:
    if not isinstance(value, (dict, Mapping)):  # the search for a dict is ten times faster
        raise TypeError(f'{name} must be a map, got {type(value).__name__}')


def _check_types(result: Outcome | BindingOutcome) -> None:
    """Check the types in the result of a plugin, so that the error names the plugin.

    :raises TypeError: the data, a patch or the warnings have another type.
    """
    _check_map('nodes', result.nodes)
    for node_id, patch in result.nodes.items():
        if not isinstance(patch, NodePatch):
            raise TypeError(f'nodes[{node_id!r}] must be a NodePatch, got {type(patch).__name__}')
    if result.cluster is not None and not isinstance(result.cluster, ClusterPatch):
        raise TypeError(f'cluster must be a ClusterPatch, got {type(result.cluster).__name__}')
    if isinstance(result.warnings, str) or not all(
        isinstance(warning, str) for warning in result.warnings
    ):
        raise TypeError('warnings must be a sequence of strings')


def skipped(reason: str) -> Outcome:
    """Return the outcome of a policy that does not apply."""
    return Outcome('SKIPPED', reason)
