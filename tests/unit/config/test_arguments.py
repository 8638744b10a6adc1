"""Wrong options on the command line."""

import pytest

from placement_worker.config import arguments


@pytest.mark.parametrize(
    ('typed', 'described'),
    [
        (
            ['--config-flie=w.conf'],
            'Unknown option --config-flie (did you mean --config-file?); run "p --help" for the '
            'usage',
        ),
        (
            ['--confg', 'w.conf'],
            'Unknown option --confg (did you mean --config-file?); run "p --help" for the usage',
        ),
        (['--debug', '--bogus'], 'Unknown option --bogus; run "p --help" for the usage'),
        (
            ['--jason'],
            'Unknown option --jason (did you mean --json?); run "p --help" for the usage',
        ),
    ],
)
def test_describe_wrong_of_a_misspelt_option_suggests_a_known_one(typed, described):
    """The sentence names the first unknown option without its value."""
    assert arguments.describe_wrong('p', typed, ['--json']) == described


@pytest.mark.parametrize(
    'before', [[], ['--config-file', 'w.conf'], ['--config-f', 'w.conf'], ['--debug'], ['-d']]
)
def test_describe_wrong_of_an_argument_without_an_option_names_it(before):
    """A program without commands refuses a file that no option names."""
    assert arguments.describe_wrong('p', [*before, 'more.conf']) == (
        'Unexpected argument more.conf; run "p --help" for the usage'
    )


@pytest.mark.parametrize(
    'typed',
    [
        ['--config-file', 'w.conf', '-d'],
        ['--config-file=w.conf', '--log-file', 'l'],
        ['--shell_completion', 'bash'],
    ],
)
def test_describe_wrong_of_values_of_options_is_none(typed):
    """The value of an option is no argument of its own."""
    assert arguments.describe_wrong('p', typed) is None


@pytest.mark.parametrize('more', [[], ['--debug'], ['--config-dir=d'], ['--']])
@pytest.mark.parametrize('options', [(), ('--json',)])
def test_describe_wrong_of_an_option_without_its_value_names_it(more, options):
    """The sentence replaces the usage of the whole program."""
    assert arguments.describe_wrong('p', ['-d', '--config-file', *more], options) == (
        'Option --config-file needs a value; run "p --help" for the usage'
    )


@pytest.mark.parametrize(
    'typed',
    [
        [],
        ['-'],
        ['--config-file', 'w.conf', '--nodebug', '--version', '--help'],
        ['--config-f=w.conf', '-h', '--', 'upgrade', 'check', '--json'],
    ],
)
def test_describe_wrong_of_known_and_abbreviated_options_is_none(typed):
    """argparse accepts each unique beginning of an option."""
    assert arguments.describe_wrong('p', typed, ['--json']) is None
