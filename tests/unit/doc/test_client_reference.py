"""The reference of the client in the manual, against its class."""

import inspect
import re
from pathlib import Path

from placement_worker.client.rpc_client import PolicyClient

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / 'doc' / 'source' / 'calling.rst').read_text(encoding='utf-8')
REFERENCE = PAGE.partition('Reference of the client\n')[2].partition('Data that is sent\n')[0]
ARGUMENTS, METHODS = REFERENCE.split('* - method\n')


def parameters(function):
    """Return the parameters of a method without `self`."""
    return list(inspect.signature(function).parameters.values())[1:]


def written(parameter):
    """Return a parameter as the manual writes it."""
    default = parameter.default
    return parameter.name if default is parameter.empty else f'{parameter.name}={default!r}'


def test_reference_has_each_argument_of_the_client():
    """The first table has all arguments, in order, with their simple defaults."""
    rows = re.findall(r'\* - ``(\w+)``\n     - (?:``)?(.+?)(?:``)?\n', ARGUMENTS)

    arguments = parameters(PolicyClient.__init__)
    assert [name for name, _ in rows] == [argument.name for argument in arguments]
    for argument, (name, default) in zip(arguments, rows, strict=True):
        if name != 'conf':
            number = isinstance(argument.default, float)
            assert default == (f'{argument.default:g}' if number else str(argument.default))


def test_reference_has_each_method_of_the_client():
    """The second table has the signature of each public method."""
    shown = re.findall(r'\* - ``(.+?)``\n', METHODS)

    methods = inspect.getmembers(PolicyClient, inspect.isfunction)
    signatures = {
        f'{name}({", ".join(map(written, parameters(method)))})'
        for name, method in methods
        if not name.startswith('_')
    }
    assert len(shown) == len(signatures)
    assert set(shown) == signatures
