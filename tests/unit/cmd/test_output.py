"""The output of replies."""

import argparse

import msgspec

from placement_worker.cmd import output
from placement_worker.contract.model import ActionPatch, CheckReply, CheckRequest, Decision
from tests.factories import node, region_policy, request


def test_check_of_a_full_region_shows_that_no_node_is_possible(program):
    """The table says `possible: 0` if not one node can be created."""
    policy = region_policy('R1')
    policy['spec']['properties']['regions'][0]['cap'] = 1
    asked = request('CLUSTER_SCALE_OUT', [policy], [node(1, None, 'R1')], inputs={'count': 2})

    status, out, _ = program(
        'check', '--cloud', 'cloud', 'full', full=asked, cloud={'regions': ['R1']}
    )

    assert status == 1
    assert '    asked: 2\n    possible: 0\n' in out


def test_table_of_rows_with_different_keys_has_a_column_per_key():
    """A table has a column per key; missing values are dashes, and numbers are aligned right."""
    drawn = output.table([{'name': 'a', 'size': 1}, {'name': 'b', 'cap': -1, 'usable': True}])

    assert drawn.splitlines() == [
        '+------+------+-----+--------+',
        '| name | size | cap | usable |',
        '+------+------+-----+--------+',
        '| a    | 1    | -   | -      |',
        '| b    | -    | -   | yes    |',
        '+------+------+-----+--------+',
    ]


def test_check_of_a_deletion_hides_usable_in_plans_alone():
    """A policy of another package may have a table with a column of the same name."""
    details = {'zones': [{'name': 'a', 'usable': True}], 'racks': [{'rack': 'r', 'usable': True}]}
    decision = Decision('p', None, 'test-1.0', 1, 'APPLIED', 'Done', 0, details)
    data = {'status': 'OK', 'reason': 'Done', 'deletion': {'count': 1}}
    asked = msgspec.convert(request('CLUSTER_SCALE_IN', []), CheckRequest)
    reply = CheckReply(
        action=ActionPatch('act-1', data), cluster=None, nodes={}, decisions=[decision]
    )

    shown = output.check_reply(reply, asked, 'table')

    assert '| name |\n' in shown
    assert '| rack | usable |\n' in shown


def test_document_as_yaml_starts_a_document():
    """YAML output separates several replies."""
    assert output.document({'b': 1, 'a': 2}, 'yaml') == '---\nb: 1\na: 2'


def test_format_argument_without_a_value_is_the_first_format():
    """The default format is the first one that a command offers."""
    parser = argparse.ArgumentParser()
    output.add_format_argument(parser, ('yaml', 'json'))

    assert parser.parse_args([]).format == 'yaml'
    assert parser.parse_args(['-f', 'json']).format == 'json'
