"""Malformed requests, each with the exception and the exact text that its sender gets.

A row is a name, the request, the exception, and its text.
"""

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.factories import (
    bind,
    changed,
    deletion_policy,
    node,
    nodes,
    redistributing,
    region_policy,
    request,
    spreading,
    zone_policy,
)


class Malformed(NamedTuple):
    name: str
    sent: Any
    error: str
    message: str


GOOD = request(
    'CLUSTER_SCALE_IN',
    [zone_policy('a', 'b'), deletion_policy(), region_policy('R1')],
    nodes(a=2, b=1),
    inputs={},
)
REQUEST, SPEC, TYPE, ACTION = (
    'InvalidRequest',
    'InvalidSpec',
    'PolicyTypeNotFound',
    'UnsupportedAction',
)


def _change(path: str, act: Callable[[Any, Any], None]) -> Callable[[Any], None]:
    """Act on the container and the last key of a path like `cluster.nodes.0.index`."""
    *steps, last = [int(step) if step.isdigit() else step for step in path.split('.')]

    def change(target: Any) -> None:
        for step in steps:
            target = target[step]
        act(target, last)

    return change


def _set(path: str, value: Any) -> Callable[[Any], None]:
    return _change(path, lambda target, last: operator.setitem(target, last, value))


def _row(name: str, change: Callable[[Any], None], error: str, message: str) -> Malformed:
    return Malformed(name, changed(GOOD, change), error, message)


def _typed(path: str, value: Any, message: str) -> Malformed:
    return _row(f'{path} = {value!r}', _set(path, value), REQUEST, message)


def _missing(path: str, message: str) -> Malformed:
    return _row(f'no {path}', _change(path, operator.delitem), REQUEST, message)


def _spec(policy: int, name: str, properties: Any, message: str) -> Malformed:
    return _row(name, _set(f'policies.{policy}.spec.properties', properties), SPEC, message)


def _protection(name: str, version: str, mode: Any, message: str) -> Malformed:
    """Return a row with one deletion policy and its `protection`."""
    policy = deletion_policy(version=version, protection=mode)
    return Malformed(name, request('CLUSTER_SCALE_IN', [policy], nodes(a=1)), SPEC, message)


def _spread(name: str, given: Any, message: str) -> Malformed:
    """Return a row with one zone placement policy and its `spread`."""
    policy = spreading(zone_policy('a'))
    policy['spec']['properties']['spread'] = given
    return _row(name, _set('policies', [policy]), SPEC, message)


def _shortage(name: str, given: Any, message: str) -> Malformed:
    """Return a row with one zone placement policy and its `on_shortage`."""
    policy = redistributing(zone_policy('a'))
    policy['spec']['properties']['on_shortage'] = given
    return _row(name, _set('policies', [policy]), SPEC, message)


def _recorded(failures: Any, message: str) -> Malformed:
    """Return a row with these `placement_failures`; `{}` in the message stands for their path."""
    key = 'placement_failures'
    return _row(
        f'{key} = {failures!r}',
        _set('cluster.data', {key: failures}),
        REQUEST,
        message.format(f'$.cluster.data.{key}'),
    )


RECORD = {'zone': 'a', 'at': '2026-01-01T11:59:00Z', 'attempts': 1}
ZONE, DELETION, REGION = (f'$.policies[{i}].spec.properties' for i in range(3))
SPREAD, SHORTAGE = f'{ZONE}.spread', f'{ZONE}.on_shortage'
FIELDS = '`criteria`, `destroy_after_deletion`, `grace_period`, `reduce_desired_capacity`, `hooks`'
CRITERIA = '`OLDEST_FIRST`, `OLDEST_PROFILE_FIRST`, `RANDOM`, `YOUNGEST_FIRST`'
TIME = 'Expected an ISO 8601 time such as `2026-01-31T12:00:00Z`'

TABLE = [
    # Not an object, or not JSON at all.
    Malformed('nothing', None, REQUEST, 'Expected `object`, got `null` - at `$`'),
    Malformed('a number', 7, REQUEST, 'Expected `object`, got `int` - at `$`'),
    Malformed('a list', [], REQUEST, 'Expected `object`, got `array` - at `$`'),
    Malformed('an empty object', {}, REQUEST, 'Object missing required field `target` - at `$`'),
    Malformed('an empty string', '', REQUEST, 'Expected JSON - at `$`: Input data was truncated'),
    Malformed('not JSON', 'target: BEFORE', REQUEST,
              'Expected JSON - at `$`: JSON is malformed: invalid character (byte 4)'),
    Malformed('cut off', '{"target": "BEF', REQUEST,
              'Expected JSON - at `$`: Input data was truncated'),
    Malformed('two objects', '{} {}', REQUEST, 'Object missing required field `target` - at `$`'),
    Malformed('a JSON list', '[1]', REQUEST, 'Expected `object`, got `array` - at `$`'),
    Malformed(
        'a number too large',
        '{"target": "BEFORE", "action": {"id": "a", "action": "b", "inputs": {"count": 1e999}}}',
        REQUEST,
        'Number out of range - at `$.action.inputs[...]`',
    ),
    # The request itself.
    _missing('target', 'Object missing required field `target` - at `$`'),
    _missing('action', 'Object missing required field `action` - at `$`'),
    _missing('cluster', 'Object missing required field `cluster` - at `$`'),
    _missing('policies', 'Object missing required field `policies` - at `$`'),
    _typed('target', 'DURING', 'Expected one of `AFTER`, `BEFORE`, got `DURING` - at `$.target`'),
    _typed('target', 'before', 'Expected one of `AFTER`, `BEFORE`, got `before` - at `$.target`'),
    _typed('target', None, 'Expected `str`, got `null` - at `$.target`'),
    _typed('dry_run', 'yes', 'Expected `bool`, got `str` - at `$.dry_run`'),
    _typed('explain', 'all',
           'Expected one of `full`, `none`, `summary`, got `all` - at `$.explain`'),
    _typed('credentials', 'trust-1', 'Expected `object`, got `str` - at `$.credentials`'),
    _typed('credentials', {'trust_id': 5},
           'Expected `str | null`, got `int` - at `$.credentials.trust_id`'),
    _typed('expires_at', 'soon', f'{TIME}, got `soon` - at `$.expires_at`'),
    _typed('expires_at', 1700000000, 'Expected `datetime | null`, got `int` - at `$.expires_at`'),
    _typed('reply_to', 'topic', 'Expected `object | null`, got `str` - at `$.reply_to`'),
    _typed('reply_to', {'topic': 't'},
           'Object missing required field `exchange` - at `$.reply_to`'),
    # The action.
    _missing('action.id', 'Object missing required field `id` - at `$.action`'),
    _missing('action.action', 'Object missing required field `action` - at `$.action`'),
    _typed('action.id', 17, 'Expected `str`, got `int` - at `$.action.id`'),
    _typed('action.inputs', [], 'Expected `object`, got `array` - at `$.action.inputs`'),
    _typed('action.data', None, 'Expected `object`, got `null` - at `$.action.data`'),
    _typed('action.node', 'n1', 'Expected `object | null`, got `str` - at `$.action.node`'),
    _row(
        'a misspelled action',
        _set('action.action', 'CLUSTER_SCALEIN'),
        ACTION,
        'Expected an action of Senlin, got `CLUSTER_SCALEIN` - at `$.action.action` '
        '(did you mean `CLUSTER_SCALE_IN`?)',
    ),
    _row('an action of another engine', _set('action.action', 'CLUSTER_GROW'), ACTION,
         'Expected an action of Senlin, got `CLUSTER_GROW` - at `$.action.action`'),
    _row('an unknown action', _set('action.action', 'x' * 500), ACTION,
         f'Expected an action of Senlin, got `{"x" * 80}...` - at `$.action.action`'),
    _row('a NODE_CREATE without its node', _set('action.action', 'NODE_CREATE'), REQUEST,
         'Expected `object` for NODE_CREATE, got `null` - at `$.action.node`'),
    _row('a NODE_DELETE without its node', _set('action.action', 'NODE_DELETE'), REQUEST,
         'Expected `object` for NODE_DELETE, got `null` - at `$.action.node`'),
    # The cluster and its nodes.
    _missing('cluster.id', 'Object missing required field `id` - at `$.cluster`'),
    _missing('cluster.profile', 'Object missing required field `profile` - at `$.cluster`'),
    _missing('cluster.nodes', 'Object missing required field `nodes` - at `$.cluster`'),
    _missing('cluster.profile.type',
             'Object missing required field `type` - at `$.cluster.profile`'),
    _typed('cluster.min_size', -1, 'Expected `int` >= 0, got `-1` - at `$.cluster.min_size`'),
    _typed('cluster.max_size', '5', 'Expected `int`, got `str` - at `$.cluster.max_size`'),
    _typed('cluster.nodes', {}, 'Expected `array`, got `object` - at `$.cluster.nodes`'),
    _typed('cluster.nodes.1', 'n2', 'Expected `object`, got `str` - at `$.cluster.nodes[1]`'),
    _typed('cluster.nodes.2.index', '3',
           'Expected `int`, got `str` - at `$.cluster.nodes[2].index`'),
    _typed('cluster.nodes.0.index', 1.5,
           'Expected `int`, got `float` - at `$.cluster.nodes[0].index`'),
    _typed('cluster.nodes.0.tainted', 0,
           'Expected `bool`, got `int` - at `$.cluster.nodes[0].tainted`'),
    _typed('cluster.nodes.0.created_at', 'last week',
           f'{TIME}, got `last week` - at `$.cluster.nodes[0].created_at`'),
    _typed('cluster.nodes.1.updated_at', 'noon',
           f'{TIME}, got `noon` - at `$.cluster.nodes[1].updated_at`'),
    _typed('cluster.nodes.0.data', None,
           'Expected `object`, got `null` - at `$.cluster.nodes[0].data`'),
    _typed('cluster.nodes.2.data', {'placement': 'a'},
           'Expected `object | null`, got `str` - at `$.cluster.nodes[2].data.placement`'),
    _typed('cluster.nodes.0.data.placement', [],
           'Expected `object | null`, got `array` - at `$.cluster.nodes[0].data.placement`'),
    _typed('cluster.nodes.1.data.placement.zone', 5,
           'Expected `str | null`, got `int` - at `$.cluster.nodes[1].data.placement.zone`'),
    _typed(
        'cluster.nodes.0.data.placement.region_name',
        {'name': 'R1'},
        'Expected `str | null`, got `object` - at `$.cluster.nodes[0].data.placement.region_name`',
    ),
    _typed('action.node', {'id': 'n9', 'data': {'placement': True}},
           'Expected `object | null`, got `bool` - at `$.action.node.data.placement`'),
    _typed('action.node', {'id': 'n9', 'data': {'placement': {'zone': ['a']}}},
           'Expected `str | null`, got `array` - at `$.action.node.data.placement.zone`'),
    _typed('cluster.nodes.0.metadata', 'protected',
           'Expected `object | null`, got `str` - at `$.cluster.nodes[0].metadata`'),
    _typed(
        'cluster.nodes.0.details',
        {'addresses': {'private': [{'addr': '10.0.0.5'}]}},
        'Object missing required field `version` - '
        'at `$.cluster.nodes[0].details.addresses[...][0]`',
    ),
    _missing('cluster.nodes.1.id', 'Object missing required field `id` - at `$.cluster.nodes[1]`'),
    _typed('cluster.nodes.2.id', 'n1',
           'Expected each node once, got `n1` again - at `$.cluster.nodes[2].id`'),
    _typed(
        'cluster.profile.properties',
        {'availability_zone': ['a']},
        'Expected `str | null`, got `array` - at `$.cluster.profile.properties.availability_zone`',
    ),
    # The failures that an earlier check recorded.
    _recorded({}, 'Expected `array`, got `object` - at `{}`'),
    _recorded(None, 'Expected `array`, got `null` - at `{}`'),
    _recorded(['a'], 'Expected `object`, got `str` - at `{}[0]`'),
    _recorded([RECORD, {**RECORD, 'at': 'noon'}], f'{TIME}, got `noon` - at `{{}}[1].at`'),
    _recorded([{**RECORD, 'attempts': 0}], 'Expected `int` >= 1, got `0` - at `{}[0].attempts`'),
    _recorded([{**RECORD, 'zone': 7}], 'Expected `str | null`, got `int` - at `{}[0].zone`'),
    _recorded([{**RECORD, 'zone': None}],
              'Expected `region_name`, `zone` or both, got none - at `{}[0]`'),
    _recorded([{'zone': 'a', 'attempts': 1}], 'Object missing required field `at` - at `{}[0]`'),
    # The policies.
    _typed('policies', {}, 'Expected `array`, got `object` - at `$.policies`'),
    _missing('policies.0.id', 'Object missing required field `id` - at `$.policies[0]`'),
    _typed('policies.2.id', 'pol-zone_placement',
           'Expected each policy once, got `pol-zone_placement` again - at `$.policies[2].id`'),
    _missing('policies.1.spec', 'Object missing required field `spec` - at `$.policies[1]`'),
    _missing('policies.1.spec.version',
             'Object missing required field `version` - at `$.policies[1].spec`'),
    _typed('policies.0.priority', 'high',
           'Expected `int | null`, got `str` - at `$.policies[0].priority`'),
    _typed('policies.0.enabled', None, 'Expected `bool`, got `null` - at `$.policies[0].enabled`'),
    _typed('policies.0.spec.version', None,
           'Expected `int | float | str`, got `null` - at `$.policies[0].spec.version`'),
    _typed('policies.0.spec.properties', [],
           'Expected `object`, got `array` - at `$.policies[0].spec.properties`'),
    _row(
        'a misspelled type',
        _set('policies.0.spec.type', 'senlin.policy.zoneplacement'),
        TYPE,
        'Policy type `senlin.policy.zoneplacement-1.0` is not installed - at `$.policies[0].spec` '
        '(did you mean `senlin.policy.zone_placement-1.0`?); install its package on the workers, '
        'or disable the policy',
    ),
    _row(
        'an unknown version',
        _set('policies.1.spec.version', 1.9),
        TYPE,
        'Policy type `senlin.policy.deletion-1.9` is not installed - at `$.policies[1].spec` '
        '(did you mean `senlin.policy.deletion-1.2`?); install its package on the workers, or '
        'disable the policy',
    ),
    _row(
        'a type with its version, and a version',
        _set('policies.1.spec.type', 'senlin.policy.deletion-1.0'),
        TYPE,
        'Policy type `senlin.policy.deletion-1.0-1.1` is not installed - at `$.policies[1].spec`; '
        "write type and version apart: `type: senlin.policy.deletion, version: '1.0'`",
    ),
    _row(
        'a type with its version, and no version',
        _set('policies.0.spec', {'type': 'senlin.policy.zone_placement-1.1', 'properties': {}}),
        REQUEST,
        'Object missing required field `version`; write type and version apart: '
        "`type: senlin.policy.zone_placement, version: '1.1'` - at `$.policies[0].spec`",
    ),
    _row('a type that ends in a number, and no version',
         _set('policies.0.spec', {'type': 'acme.policy.pause-2', 'properties': {}}), REQUEST,
         'Object missing required field `version` - at `$.policies[0].spec`'),
    _protection(
        'protection in an early version',
        '1.1',
        'strict',
        'Object contains unknown field `protection`, expected one of '
        f'{FIELDS} - at `$.policies[0].spec.properties`',
    ),
    _protection(
        'an unknown mode of protection',
        '1.2',
        'loose',
        'Expected one of `best_effort`, `strict`, got `loose` - at '
        '`$.policies[0].spec.properties.protection`',
    ),
    # Their properties.
    _spec(0, 'no zones', {}, f'Object missing required field `zones` - at `{ZONE}`'),
    _spec(0, 'an empty list of zones', {'zones': []},
          f'Expected `array` of length >= 1, got `[]` - at `{ZONE}.zones`'),
    _spec(0, 'zones as names', {'zones': ['a']},
          f'Expected `object`, got `str` - at `{ZONE}.zones[0]`'),
    _spec(0, 'a zone without a name', {'zones': [{}]},
          f'Object missing required field `name` - at `{ZONE}.zones[0]`'),
    _spec(0, 'an empty name', {'zones': [{'name': ''}]},
          f'Expected `str` of length >= 1, got `` - at `{ZONE}.zones[0].name`'),
    _spec(0, 'a weight of nothing', {'zones': [{'name': 'a', 'weight': 0}]},
          f'Expected `int` >= 1, got `0` - at `{ZONE}.zones[0].weight`'),
    _spec(0, 'a weight in words', {'zones': [{'name': 'a', 'weight': 'much'}]},
          f'Expected `int`, got `str` - at `{ZONE}.zones[0].weight`'),
    _spec(
        0,
        'a cap on a zone',
        {'zones': [{'name': 'a', 'cap': 1}]},
        'Object contains unknown field `cap`, expected one of `name`, `weight` - '
        f'at `{ZONE}.zones[0]`',
    ),
    _spec(0, 'a zone twice', {'zones': [{'name': 'a'}, {'name': 'a'}]},
          f'Expected each name once, got `a` again in `zones[1]` - at `{ZONE}`'),
    _spec(1, 'unknown criteria', {'criteria': 'NEWEST'},
          f'Expected one of {CRITERIA}, got `NEWEST` - at `{DELETION}.criteria`'),
    _spec(1, 'a negative grace period', {'grace_period': -1},
          f'Expected `int` >= 0, got `-1` - at `{DELETION}.grace_period`'),
    _spec(
        1,
        'an unknown property',
        {'criterion': 'RANDOM'},
        f'Object contains unknown field `criterion`, expected one of {FIELDS} - at `{DELETION}`',
    ),
    _spec(1, 'a hook without a URL', {'hooks': {'type': 'webhook'}},
          f'Expected `params.url` for hooks of type `webhook`, got none - at `{DELETION}.hooks`'),
    _spec(1, 'a hook without a queue', {'hooks': {'timeout': 3}},
          f'Expected `params.queue` for hooks of type `zaqar`, got none - at `{DELETION}.hooks`'),
    _spec(1, 'an unknown hook', {'hooks': {'type': 'mail'}},
          f'Expected one of `webhook`, `zaqar`, got `mail` - at `{DELETION}.hooks.type`'),
    _spec(2, 'a cap below none', {'regions': [{'name': 'R1', 'cap': -2}]},
          f'Expected `int` >= -1, got `-2` - at `{REGION}.regions[0].cap`'),
    _spec(2, 'a region twice', {'regions': [{'name': 'R1'}, {'name': 'R1'}]},
          f'Expected each name once, got `R1` again in `regions[1]` - at `{REGION}`'),
    _spread('an unknown mode of spread', {'mode': 'loose'},
            f'Expected one of `best_effort`, `strict`, got `loose` - at `{SPREAD}.mode`'),
    _spread('no allowed skew', {'max_skew': 0},
            f'Expected `int` >= 1, got `0` - at `{SPREAD}.max_skew`'),
    _spread('an allowed skew in words', {'max_skew': 'some'},
            f'Expected `int`, got `str` - at `{SPREAD}.max_skew`'),
    _spread(
        'an unknown key of spread',
        {'maxSkew': 1},
        'Object contains unknown field `maxSkew`, expected one of `mode`, `max_skew` '
        f'- at `{SPREAD}`',
    ),
    _spread('spread as a word', 'strict', f'Expected `object`, got `str` - at `{SPREAD}`'),
    _shortage('an unknown mode of on_shortage', {'mode': 'retry'},
              f'Expected one of `ignore`, `redistribute`, got `retry` - at `{SHORTAGE}.mode`'),
    _shortage('no first delay of on_shortage', {'initial_s': 0},
              f'Expected `int` >= 1, got `0` - at `{SHORTAGE}.initial_s`'),
    _shortage('a delay of on_shortage beyond a week', {'max_s': 604801},
              f'Expected `int` <= 604800, got `604801` - at `{SHORTAGE}.max_s`'),
    _shortage('a delay of on_shortage in words', {'max_s': '1 h'},
              f'Expected `int`, got `str` - at `{SHORTAGE}.max_s`'),
    _shortage('a first delay of on_shortage beyond the longest', {'initial_s': 3601},
              f'Expected `max_s` >= `initial_s`, got `3600` < `3601` - at `{SHORTAGE}`'),
    _shortage(
        'an unknown key of on_shortage',
        {'initial': 60},
        'Object contains unknown field `initial`, expected one of `mode`, `initial_s`, `max_s` '
        f'- at `{SHORTAGE}`',
    ),
    _row('on_shortage in an earlier version', _set('policies.0.spec.properties.on_shortage', {}),
         SPEC,
         f'Object contains unknown field `on_shortage`, expected one of `zones` - at `{ZONE}`'),
    _row('spread in an earlier version', _set('policies.0.spec.properties.spread', {}), SPEC,
         f'Object contains unknown field `spread`, expected one of `zones` - at `{ZONE}`'),
]  # fmt: skip


REBALANCE = {'cluster': GOOD['cluster'], 'policies': GOOD['policies'], 'options': {}}


def _rebalance(name: str, path: str, value: Any, message: str) -> Malformed:
    """Return a row with one changed value of a request for a rebalance."""
    return Malformed(name, changed(REBALANCE, _set(path, value)), REQUEST, message)


REBALANCE_TABLE = [
    Malformed('no cluster', {'policies': []}, REQUEST,
              'Object missing required field `cluster` - at `$`'),
    Malformed('no policies', {'cluster': GOOD['cluster']}, REQUEST,
              'Object missing required field `policies` - at `$`'),
    _rebalance('a malformed placement', 'cluster.nodes.1.data.placement', 'a',
               'Expected `object | null`, got `str` - at `$.cluster.nodes[1].data.placement`'),
    _rebalance('no move', 'options.max_moves', 0,
               'Expected `int` >= 1, got `0` - at `$.options.max_moves`'),
    _rebalance('no surge', 'options.max_surge', 0,
               'Expected `int` >= 1, got `0` - at `$.options.max_surge`'),
    _rebalance('a percentage of surge', 'options.max_surge', '25%',
               'Expected `int`, got `str` - at `$.options.max_surge`'),
    _rebalance('a negative gain', 'options.min_gain', -0.5,
               'Expected `float` >= 0.0, got `-0.5` - at `$.options.min_gain`'),
    _rebalance('a negative age', 'options.min_age_s', -1,
               'Expected `int` >= 0, got `-1` - at `$.options.min_age_s`'),
    _rebalance('a policy twice', 'policies.2.id', 'pol-deletion',
               'Expected each policy once, got `pol-deletion` again - at `$.policies[2].id`'),
    _rebalance('a node twice', 'cluster.nodes.1.id', 'n1',
               'Expected each node once, got `n1` again - at `$.cluster.nodes[1].id`'),
]  # fmt: skip

BINDING = Malformed(
    'a malformed placement',
    bind(zone_policy('a'), [*nodes(a=1), node(2, data={'placement': {'zone': 1.5}})]),
    REQUEST,
    'Expected `str | null`, got `float` - at `$.cluster.nodes[1].data.placement.zone`',
)
