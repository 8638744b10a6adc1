"""Write the JSON Schema of each message of the contract: python tools/schemas.py [FOLDER].

The default folder is that of the package. The schemas derive from the Structs of the contract;
doc/source/contract.yaml has the descriptions of their keys.
"""

import inspect
import json
import sys
from collections import ChainMap, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import schema_types
from msgspec.inspect import DateTimeType, StructType, UnionType

from placement_worker.contract import actions, rpc
from placement_worker.contract.inputs import KEYS_BY_ACTION
from placement_worker.contract.rpc import METHODS, POLICY_CHECK

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / 'doc' / 'ext'))

from contract_texts import OBJECTS, TEXTS, plain_text  # noqa: E402  # an extension of the manual

DIALECT = 'https://json-schema.org/draft/2020-12/schema'
FOLDER = ROOT / 'placement_worker' / 'contract' / 'schemas'
REF = '#/$defs/{name}'

Schema = dict[str, Any]

INPUTS: Mapping[type, tuple[str, ...]] = {
    schema_types.ScaleOutInputs: (actions.CLUSTER_SCALE_OUT,),
    schema_types.ScaleInInputs: (actions.CLUSTER_SCALE_IN,),
    schema_types.ResizeInputs: (actions.CLUSTER_RESIZE,),
    schema_types.CandidateInputs: (actions.CLUSTER_DEL_NODES,),
    schema_types.ReplaceInputs: (actions.CLUSTER_REPLACE_NODES,),
}
"""The inputs that policies read -> the actions that have them."""


def messages() -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Yield the name of each message, its title, and the types of which it has one."""
    for method in METHODS:
        yield f'{method.name}.request', f'Request of {method.name}', (method.request,)
        yield f'{method.name}.reply', f'Reply of {method.name}', (method.reply,)
    cast = (POLICY_CHECK.reply, schema_types.ErrorReply)
    yield 'policy_check.cast_reply', 'Reply to a cast of policy_check', cast
    yield 'parked_request', 'Message in the parking lot', (schema_types.ParkedRequest,)
    for name in ('policy_check', 'policy_attach', 'policy_detach'):
        is_check = name == POLICY_CHECK.name
        start = schema_types.CheckStart if is_check else schema_types.BindStart
        end = schema_types.CheckEnd if is_check else schema_types.BindEnd
        for event, payload in (('start', start), ('end', end), ('error', schema_types.Failure)):
            yield f'{name}.{event}', f'Payload of the notification {name}.{event}', (payload,)


def schemas() -> Iterator[tuple[str, Schema]]:
    """Yield the name and the schema of each message."""
    kinds = [kind for _, _, of in messages() for kind in of]
    parts = [*INPUTS, *schema_types.MAPS, *schema_types.TEXTS]
    found, defs = msgspec.json.schema_components([*kinds, *parts], ref_template=REF)
    refs = iter(found)
    defs = _portable(_with_typed_maps(_described(defs, [*kinds, *parts])))
    for name, title, of in messages():
        described = [next(refs) for _ in of]
        body = described[0] if len(of) == 1 else {'anyOf': described}
        used = {one: defs[one] for one in sorted(_reachable(body, defs))}
        yield (
            name,
            {
                '$schema': DIALECT,
                '$id': f'urn:placement-worker:{rpc.VERSION}:{name}',
                'title': title,
                **body,
                **({'$defs': used} if used else {}),
            },
        )


def _described(defs: Mapping[str, Schema], kinds: Sequence[Any]) -> dict[str, Schema]:
    """Return the definitions with descriptions of the Structs and of their keys."""
    described = {name: dict(found) for name, found in defs.items()}
    of_keys = dict(_descriptions())
    types = map(msgspec.inspect.type_info, kinds)
    for struct in {one.cls: one for kind in types for one in _structs(kind)}.values():
        definition = described[struct.cls.__name__]
        texts = ChainMap(*(dict(of_keys.get(base.__name__, {})) for base in struct.cls.__mro__))
        definition['description'] = _first_paragraph(struct.cls.__doc__)
        for field in struct.fields:
            key = definition['properties'][field.encode_name]
            if _is_time(field.type):
                key = definition['properties'][field.encode_name] = _with_format(key, 'date-time')
            if field.encode_name in texts and 'description' not in key:
                key['description'] = plain_text(texts[field.encode_name])
    return described


def _descriptions() -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the name of each Struct with a description, with those of its keys."""
    yield from OBJECTS.items()
    of_inputs = {key: texts['meaning'] for key, texts in TEXTS['inputs'].items()}
    inputs = (schema_types.CommonInputs, *INPUTS)
    yield from ((struct.__name__, of_inputs) for struct in inputs)
    of_data: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for path, texts in TEXTS['data'].items():
        parent, _, key = path.rpartition('.')
        of_data[parent.capitalize() or 'DecidedData'][key] = texts['meaning']
    yield from of_data.items()


def _structs(kind: Any) -> Iterator[StructType]:
    """Yield all Structs inside a type."""
    if isinstance(kind, StructType):
        yield kind
        inside = [field.type for field in kind.fields]
    else:
        named = ('type', 'item_type', 'value_type')
        inside = [getattr(kind, name) for name in named if hasattr(kind, name)]
        inside += getattr(kind, 'types', ())
    for one in inside:
        yield from _structs(one)


def _first_paragraph(docstring: str | None) -> str:
    text = inspect.cleandoc(docstring or '').partition('\n\n')[0]
    return ' '.join(text.replace('`', '').split())


def _is_time(kind: Any) -> bool:
    types = kind.types if isinstance(kind, UnionType) else (kind,)
    return any(isinstance(one, DateTimeType) for one in types)


def _with_format(schema: Schema, name: str) -> Schema:
    """Return a schema whose string has a format; msgspec sets it for times with a zone only."""
    if schema.get('type') == 'string':
        return {**schema, 'format': name}
    if 'anyOf' in schema:
        return {**schema, 'anyOf': [_with_format(one, name) for one in schema['anyOf']]}
    return schema


def _with_typed_maps(defs: dict[str, Schema]) -> dict[str, Schema]:
    """Return the definitions with the actions, and with types for their inputs and data."""
    action = defs['Action']
    for of, key, name in (
        ('Action', 'data', 'ActionData'),
        ('Action', 'inputs', 'CommonInputs'),
        ('ActionPatch', 'data', 'DecidedData'),
    ):
        free_form = defs[of]['properties'].pop(key)
        del free_form['type']
        defs[of]['properties'][key] = {**free_form, '$ref': REF.format(name=name)}
    action['properties']['action']['enum'] = sorted(KEYS_BY_ACTION)
    typed = {
        names: {'properties': {'inputs': {'$ref': REF.format(name=struct.__name__)}}}
        for struct, names in INPUTS.items()
    }
    typed[tuple(sorted(actions.OF_A_NODE))] = {
        'properties': {'node': {'type': 'object'}},
        'required': ['node'],
    }
    action['allOf'] = [
        {'if': {'properties': {'action': {'enum': list(names)}}}, 'then': then}
        for names, then in typed.items()
    ]
    return defs


def _portable(schema: Any) -> Any:
    """Return the schema with the end of each pattern as ECMAScript writes it."""
    if isinstance(schema, dict):
        return {
            key: value.replace(r'\Z', '$')
            if key == 'pattern' and isinstance(value, str)
            else _portable(value)
            for key, value in schema.items()
        }
    return [_portable(one) for one in schema] if isinstance(schema, list) else schema


def _reachable(schema: Any, defs: Mapping[str, Schema]) -> set[str]:
    """Return the names of the definitions that a schema refers to, directly or not."""
    found: set[str] = set()
    pending = [schema]
    while pending:
        one = pending.pop()
        if isinstance(one, list):
            pending += one
        elif isinstance(one, dict):
            name = str(one.get('$ref', '')).removeprefix(REF.format(name=''))
            if name and name not in found:
                found.add(name)
                pending.append(defs[name])
            pending += one.values()
    return found


def main(folder: Path) -> None:
    """Write all schemas, and remove those of messages that no longer exist."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob('*.json'):
        old.unlink()
    for name, schema in schemas():
        (folder / f'{name}.json').write_text(json.dumps(schema, indent=2) + '\n', encoding='utf-8')


if __name__ == '__main__':
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
