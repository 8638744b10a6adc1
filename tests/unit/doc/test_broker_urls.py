"""Broker URLs of the manual."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = (ROOT / 'doc' / 'source').glob('**/*.rst')
FILES = [ROOT / 'README.rst', *(ROOT / 'conf').glob('*.conf.sample'), *PAGES]
URL = r'(?:rabbit|amqp)://[\w-]+:[\w-]+@[\w.]+(?::\d+)?/([^\s?\'"`]*)'
# URLs with another virtual host -> the reason.
OTHERS = {
    'rabbit://guest:guest@127.0.0.1:5672/': 'the tutorial and the tasks have a broker of their own',
    'rabbit://guest:guest@127.0.0.1:1/': 'no broker runs there',
    'rabbit://rabbitmq:password@127.0.0.1:5672//': 'the help text of oslo.messaging',
}


def found():
    return [
        (file.name, match[0], match[1].rstrip('.'))
        for file in FILES
        for match in re.finditer(URL, file.read_text(encoding='utf-8'))
        if match[0] not in OTHERS
    ]


@pytest.mark.parametrize(('file', 'url', 'virtual_host'), found())
def test_broker_url_of_the_manual_names_the_virtual_host_placement(file, url, virtual_host):
    """All pages use the virtual host that the page about installation creates."""
    assert virtual_host == 'placement', f'{file}: {url}'


def test_broker_urls_are_found_on_the_pages_that_connect():
    """The search finds the URLs of the pages for engines and for operators."""
    files = {file for file, _, _ in found()}

    assert files >= {'README.rst', 'install.rst', 'senlin.rst', 'calling.rst', 'health.rst'}
