"""Loading YAML whose aliases, keys and timestamps are surprising or hostile."""

import gc
import itertools

import pytest
import yaml

from placement_worker.formats import yaml_loader
from placement_worker.formats.yaml_loader import TooDeep
from tests.unit.subprocesses import run_python

LONG = '\n'.join(f'- {{id: {n}, items: [a, {{b: c}}]}}' for n in range(2000))


@pytest.fixture
def collections():
    """The collections of the garbage collector during the test."""
    counted = []
    gc.callbacks.append(lambda phase, info: phase == 'start' and counted.append(info))
    yield counted
    del gc.callbacks[-1]


def test_load_of_malformed_yaml_leaves_the_garbage_collector_enabled_or_disabled():
    """An error does not leave the collector paused, and a disabled one is not enabled."""
    for switch, is_enabled in ((gc.disable, False), (gc.enable, True)):
        switch()
        with pytest.raises(yaml.YAMLError):
            yaml_loader.load_all('a: [1')
        assert gc.isenabled() == is_enabled


@pytest.mark.parametrize('load', [yaml_loader.load_all, lambda text: yaml_loader.root(text, 1)])
def test_load_of_a_long_document_pauses_the_garbage_collector(collections, load):
    """The growing tree is not walked while it is built; the end of the pause may collect once."""
    gc.collect()
    collections.clear()

    loaded = load(LONG)

    assert len(collections) <= 1
    assert loaded
    assert gc.isenabled()


def test_load_beyond_the_deepest_level_is_refused():
    """The deepest level is read, also after other documents, and one more level is refused."""
    assert yaml_loader.load_all('---\n[[], []]\n' * 2000) == [[[], []]] * 2000
    assert yaml_loader.load_all('- ' * 899 + '[]') == yaml_loader.load_all('[' * 900 + ']' * 900)
    assert yaml_loader.load_all('[' * 999 + ']' * 999) != []
    with pytest.raises(TooDeep):
        yaml_loader.load_all('[' * 1001 + ']' * 1001)


BOMB = 'a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n' + ''.join(
    f'{this}: &{this} [{", ".join([f"*{before}"] * 9)}]\n'
    for before, this in itertools.pairwise('abcdefghijkl')
)
AROUND = 'an alias that refers to a node around it(.|\\n)*line'
TOO_LONG = 'aliases that add more than 33554432 characters(.|\\n)*line'


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        (BOMB, f'{TOO_LONG} 7, column 4'),
        ('a: &a {x: 1, y: [*a]}\n', f'{AROUND} 1, column 17'),
        ('a: &a [*a]\n', f'{AROUND} 1, column 4'),
        (f'a: &a {"x" * 100_000}\nb:\n' + '- *a\n' * 1000, f'{TOO_LONG} 3, column 1'),
        ('a: &a {b: 1}\n? [*a, *a]\n: 1\n', 'a key that is not a scalar'),
    ],
    ids=['bomb', 'recursive map', 'recursive list', 'long text', 'key'],
)
def test_yaml_with_aliases_beyond_the_bound_is_refused_with_the_line(text, said):
    """A short file cannot fill the memory through its aliases."""
    with pytest.raises(yaml.constructor.ConstructorError, match=said):
        yaml_loader.load_all(text)


def test_yaml_with_an_alias_bomb_is_refused_in_bounded_memory(tmp_path):
    """A command that reads a bomb names the line, in a gigabyte of addresses."""
    (tmp_path / 'bomb.yaml').write_text(BOMB)
    limited = 'import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30)); '
    limited += 'from placement_worker.cmd import cli; sys.exit(cli.main())'

    done = run_python('-c', limited, 'check', tmp_path / 'bomb.yaml', timeout=60)

    assert (done.returncode, done.stdout, done.stderr.count('\n')) == (2, '', 3)
    assert 'aliases that add more than' in done.stderr


def test_yaml_with_ordinary_aliases_is_read_as_if_they_were_written_out():
    """A profile that 10,000 nodes share by an alias is accepted."""
    text = (
        'p: &p {type: os.nova.server-1.0, properties: {availability_zone: az1}}\nnodes:\n'
        + '- *p\n' * 10_000
    )

    (read,) = yaml_loader.load_all(text)

    assert read['nodes'] == [read['p']] * 10_000
