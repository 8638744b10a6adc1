"""The manual in a browser: legible on a phone and on a desktop, without a network."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / 'doc' / 'source'
WIDTHS = [360, 768, 1180, 1440]
PHONE = WIDTHS[0]
PAPER = 718  # A4 between margins of a centimeter
LEAST_PIXELS = 11
SCHEMES = ['light', 'dark']


@pytest.fixture(scope='module')
def manual(tmp_path_factory):
    """Return the folder of the built manual."""
    folder = tmp_path_factory.mktemp('manual')
    command = [sys.executable, '-m', 'sphinx', '-W', '-q', '-E', '-b', 'html']
    command += ['-d', folder / 'doctrees', SOURCE, folder / 'html']
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder / 'html'


@pytest.fixture(scope='module')
def manual_page(offline_page):
    page = offline_page()
    yield page
    page.context.close()


@pytest.fixture(scope='module')
def measured(manual, manual_page):
    """Return what each page of the manual looks like, after one visit: name -> measurements."""
    names = sorted(str(file.relative_to(manual)) for file in manual.rglob('*.html'))
    return {name: _measure(manual_page, manual / name) for name in names}


def _measure(page, file):
    page.goto(file.as_uri())
    found = {'widths': {width: _layout(page, width) for width in WIDTHS}}
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        found[scheme] = page.evaluate('measure.poorContrasts()')
    page.emulate_media(media='print')
    found['print'] = {
        'contrast': page.evaluate('measure.poorContrasts()'),
        'cut off': _layout(page, PAPER)['scrolling'],
        'navigation': page.locator('.docs-sidebar, .docs-actions').filter(visible=True).count(),
    }
    page.emulate_media(media='screen')
    found['header'] = page.evaluate('measure.header()')
    found['links'] = page.evaluate('measure.outerLinks()')
    return found


def _layout(page, width):
    page.set_viewport_size({'width': width, 'height': 900})
    page.evaluate('measure.drawn()')
    return page.evaluate('measure.layout()')


def _by_page(measured, key):
    """Return the measurements with that key: (page, width) -> measurement."""
    return {
        (name, width): found['widths'][width][key]
        for name, found in measured.items()
        for width in WIDTHS
    }


def test_manual_has_all_pages(measured):
    """Each source page is among those that the browser visits."""
    sources = {file.relative_to(SOURCE).with_suffix('.html') for file in SOURCE.rglob('*.rst')}

    assert {str(source) for source in sources} <= set(measured)


def test_pages_request_nothing_from_a_network_and_log_no_error(measured, manual_page):
    """Pages load files of the manual only, and the console stays empty."""
    assert measured
    assert [url for url in manual_page.asked if not url.startswith('file:')] == []
    assert manual_page.wrong == []


def test_pages_at_any_width_do_not_scroll_sideways(measured):
    """No page is wider than the window."""
    widths = _by_page(measured, 'width')

    assert {at: width for at, width in widths.items() if width > at[1]} == {}


@pytest.mark.parametrize('wrong', ['clipped', 'unfocusable', 'small'])
def test_pages_at_any_width_are_legible_and_within_reach(measured, wrong):
    """Wide content scrolls in boxes of its own, which the Tab key reaches exactly while they
    scroll, and all text has at least 11 pixels.
    """
    assert {at: found for at, found in _by_page(measured, wrong).items() if found} == {}


def test_text_in_pictures_at_any_width_is_legible(measured, manual):
    """All text in diagrams and pictures has at least 11 pixels on the screen."""
    pictures = {
        (at, Path(address).name): width * _smallest_text(manual / '_images' / Path(address).name)
        for at, found in _by_page(measured, 'pictures').items()
        for address, width in found
    }

    assert pictures
    assert {at: pixels for at, pixels in pictures.items() if pixels < LEAST_PIXELS} == {}


def _smallest_text(picture):
    """Return the smallest size of text in an SVG file as a fraction of the picture's width."""
    svg = picture.read_text(encoding='utf-8')
    width = float(re.search(r'viewBox="\S+ \S+ (\S+) ', svg).group(1))
    sizes = re.findall(r'font-size(?:=|:\s*)"?([\d.]+)', svg)
    return min(map(float, sizes)) / width


def test_text_on_a_phone_precedes_the_navigation(measured):
    """On a phone the navigation is below the text; on wider screens it is beside it."""
    first = _by_page(measured, 'textFirst')

    assert {at for at, is_first in first.items() if is_first} == {(at, PHONE) for at in measured}


def test_text_has_enough_contrast(measured):
    """All text has a contrast of at least 4.5 in the light and the dark scheme."""
    poor = {(name, scheme): found[scheme] for name, found in measured.items() for scheme in SCHEMES}

    assert {at: kinds for at, kinds in poor.items() if kinds} == {}


def test_header_has_the_name_and_no_service_of_openstack(measured):
    """The header has the name of the project alone; nothing around the text leads elsewhere."""
    assert {found['header'] for found in measured.values()} == {'placement-worker'}
    assert {name: found['links'] for name, found in measured.items() if found['links']} == {}


def test_print_has_the_text_alone_and_cuts_nothing_off(measured):
    """On paper no table, code or picture is cut off, and there is no navigation."""
    prints = {name: found['print'] for name, found in measured.items()}

    complete = {'contrast': [], 'cut off': [], 'navigation': 0}
    assert {name: found for name, found in prints.items() if found != complete} == {}


def test_arrow_key_scrolls_a_focused_table(manual, manual_page):
    """On a phone, the arrow keys scroll a wide table that has the focus."""
    manual_page.set_viewport_size({'width': PHONE, 'height': 900})
    manual_page.goto((manual / 'contract.html').as_uri())
    box = manual_page.locator('.scroll-box[tabindex]').first
    box.focus()

    manual_page.keyboard.press('ArrowRight')

    manual_page.wait_for_function("document.querySelector('.scroll-box[tabindex]').scrollLeft > 0")
