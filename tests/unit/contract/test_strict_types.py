"""Types that refuse unknown keys."""

from typing import Annotated

import msgspec
import pytest

from placement_worker.contract import codec, unknown_keys
from placement_worker.contract.model import Action, CheckRequest, Cluster
from placement_worker.contract.strict_types import strict
from placement_worker.errors import InvalidRequest
from tests.malformed_requests import GOOD, TABLE, changed


def _full(asked):
    asked['cluster']['profile']['properties'] = {'flavor': 'm1', 'context': {'x': [1]}}
    asked['cluster']['nodes'][0].update(
        created_at='2026-01-31T12:00:00+01:00',
        details={'addresses': {}, 'other': None},
        metadata={'protected': {'until': None}, 'other': 1},
    )
    asked['action'].update(data={'free': {'form': 1.5}}, node=asked['cluster']['nodes'][0])
    asked['credentials'] = {'trust_id': 't'}


@pytest.mark.parametrize('asked', [GOOD, changed(GOOD, _full)])
def test_strict_type_decodes_a_valid_request_to_the_same_values(asked):
    """The object has the values that the worker decodes; excerpts and maps accept any key."""
    decoded = codec.decode(asked, strict(CheckRequest))

    assert msgspec.to_builtins(decoded) == msgspec.to_builtins(codec.decode(asked, CheckRequest))


def test_strict_type_is_a_subtype_with_the_same_options():
    """The objects are requests for the code that decides, and just as immutable."""
    decoded = codec.decode(changed(GOOD, _full), strict(CheckRequest))

    assert isinstance(decoded, CheckRequest)
    assert isinstance(decoded.cluster, Cluster)
    assert decoded.action.scale_inputs.count == 1
    with pytest.raises(AttributeError):
        decoded.dry_run = True
    for kind in (CheckRequest, Cluster, Action):
        assert strict(kind).__struct_config__.gc == kind.__struct_config__.gc


@pytest.mark.parametrize(
    'change',
    [
        lambda r: r.update(dryrun=True),
        lambda r: r['cluster']['nodes'][1].update(zone='a'),
        lambda r: r['policies'][0].update(priorty=1),
        lambda r: r['policies'][0]['spec'].update(properites={}),
        lambda r: r['action'].update(node={**r['cluster']['nodes'][0], 'zone': 'a'}),
        lambda r: r.update(reply_to={'exchange': 'e', 'topic': 't', 'method': 'm', 'x': 1}),
    ],
)
def test_strict_type_with_an_unknown_key_at_any_depth_is_refused(change):
    """The types refuse exactly the keys that the contract does not list."""
    asked = changed(GOOD, change)

    assert list(unknown_keys.found(asked, CheckRequest))
    with pytest.raises(InvalidRequest, match='unknown field'):
        codec.decode(asked, strict(CheckRequest))


def _error(sent, kind):
    try:
        codec.decode(sent, kind)
    except InvalidRequest as exc:
        return str(exc)
    return None


@pytest.mark.parametrize('row', TABLE, ids=lambda row: row.name)
def test_strict_type_has_the_errors_of_its_type(row):
    """A value that does not fit is refused in the same words."""
    assert _error(row.sent, strict(CheckRequest)) == _error(row.sent, CheckRequest)


def test_strict_type_with_a_renamed_field_uses_its_name_in_json():
    """Keys are those of the messages, not the names of attributes."""

    class Renamed(msgspec.Struct):
        inside: int = msgspec.field(name='in-side', default=0)

    assert msgspec.json.decode(b'{"in-side": 1}', type=strict(Renamed)).inside == 1


class Inside(msgspec.Struct):
    """A struct that others contain."""

    number: int = 0


@pytest.mark.parametrize(
    ('kind', 'value'),
    [
        (Annotated[Inside, msgspec.Meta(description='d')], {'numbre': 1}),
        (Annotated[list[Inside], msgspec.Meta(max_length=2)], [{'numbre': 1}]),
        (dict[str, Inside], {'a': {'numbre': 1}}),
        (dict[str, list[Inside | None]], {'a': [None, {'numbre': 1}]}),
        (tuple[Inside, ...], [{'numbre': 1}]),
    ],
)
def test_strict_type_with_a_struct_in_a_container_refuses_unknown_keys(kind, value):
    """A struct in a map, a list or an annotated type is as strict as a plain field."""
    outer = msgspec.defstruct('Outer', [('inside', kind)])

    assert msgspec.convert({'inside': value}, outer)
    with pytest.raises(msgspec.ValidationError, match='unknown field `numbre`'):
        msgspec.convert({'inside': value}, strict(outer))


def test_strict_type_keeps_the_bounds_of_an_annotated_field():
    """An annotation holds with strict types as well."""
    outer = msgspec.defstruct('Outer', [('inside', Annotated[int, msgspec.Meta(ge=1)])])

    with pytest.raises(msgspec.ValidationError, match='>= 1'):
        msgspec.convert({'inside': 0}, strict(outer))
