"""The requests and replies of the contract."""

import msgspec
import pytest

from placement_worker.contract import cluster, model
from placement_worker.contract.cluster import Wire


def _all_structs():
    return [
        kind
        for kind in {**vars(cluster), **vars(model)}.values()
        if isinstance(kind, type(Wire)) and issubclass(kind, Wire)
    ]


@pytest.mark.parametrize('kind', _all_structs(), ids=lambda kind: kind.__name__)
def test_struct_of_the_contract_is_frozen(kind):
    """Objects of the contract cannot be changed."""
    assert kind.__struct_config__.frozen


@pytest.mark.parametrize(('version', 'name'), [(1, 't-1.0'), ('1.1', 't-1.1'), (1.1, 't-1.1')])
def test_spec_type_name_of_a_version_has_two_parts(version, name):
    """The name of a policy type has a major and a minor version."""
    assert model.Spec('t', version).type_name == name


def test_credentials_as_text_hide_the_trust():
    """A trust id never appears in a log."""
    assert 'secret' not in repr(model.Credentials('secret'))


@pytest.mark.parametrize('topic', ['', 'a#', 'a*', 'a b', 'x' * 256])
def test_reply_to_with_an_unusable_topic_is_refused(topic):
    """The topic of a reply must be a name without wildcards."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({'exchange': 'e', 'topic': topic, 'method': 'm'}, model.ReplyTo)
