"""Documents of users: their kinds and their keys."""

import pytest

from placement_worker.contract import document_kinds
from tests.factories import bind, deletion_policy, nodes, request

CHECK = request('CLUSTER_SCALE_IN', [deletion_policy()], nodes(a=2))
BIND = bind(deletion_policy())
SPEC = deletion_policy()['spec']
SCENARIO = {'cloud': {}, 'steps': []}
TEMPLATE = {'heat_template_version': '2021-04-16', 'resources': {}}


@pytest.mark.parametrize(
    ('document', 'wanted', 'other'),
    [
        (CHECK, 'BindRequest', 'a check request; run placement-policy check FILE'),
        (BIND, 'CheckRequest',
         'a request to attach or detach a policy; run placement-policy attach FILE'),
        (SPEC, 'Scenario', 'a policy spec; run placement-policy validate FILE'),
        (SCENARIO, 'Spec', 'a scenario; run placement-policy simulate FILE'),
        (TEMPLATE, 'Spec', 'a Heat template; expected a policy spec, such as the properties of an '
         'OS::Senlin::Policy with type and version apart'),
        (TEMPLATE, 'CheckRequest', 'a Heat template; expected a check request'),
        ({'heat_template_version': 1}, 'Scenario', 'a Heat template; expected a scenario'),
        ({'zones': {'a': True}}, 'CheckRequest',
         'a description of a cloud; run placement-policy check --cloud FILE REQUEST'),
        ({'regions': ['R1']}, 'CheckRequest',
         'a description of a cloud; run placement-policy check --cloud FILE REQUEST'),
        ({'zones': [], 'cluster': {}}, 'CheckRequest', None),
        ({'zones': [{'name': 'az1'}]}, 'Spec', None),
        ({'regions': [{'name': 'R1', 'weight': 2}]}, 'Spec', None),
        (CHECK, 'CheckRequest', None),
        ({'action': {}}, 'CheckRequest', None),
        ([], 'CheckRequest', None),
    ],
)  # fmt: skip
def test_other_kind_names_the_kind_and_its_command(document, wanted, other):
    """A document of another kind is recognized by its keys."""
    assert document_kinds.other_kind(document, wanted) == other
