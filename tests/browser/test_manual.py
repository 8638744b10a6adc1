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
DRAWN = """() => new Promise((done) => {  // the second frame follows all observers of sizes
    requestAnimationFrame(() => requestAnimationFrame(done));
})"""
LAYOUT = """() => {
    const wide = (e) => e.scrollWidth > e.clientWidth;
    const boxes = [...document.querySelectorAll('.scroll-box, div.graphviz, pre')];
    const clipped = (e) => wide(e) && getComputedStyle(e).overflowX !== 'auto';
    const [text, navigation] = ['.docs-body', '.docs-sidebar']
        .map((selector) => document.querySelector(selector).getBoundingClientRect());
    return {
        width: document.documentElement.scrollWidth,
        small: smallTexts(11),
        scrolling: boxes.filter(wide).map((e) => e.textContent.slice(0, 50)),
        clipped: boxes.filter(clipped).map((e) => e.textContent.slice(0, 50)),
        unfocusable: boxes.filter((e) => wide(e) !== (e.tabIndex === 0))
            .map((e) => e.textContent.slice(0, 50)),
        pictures: [...document.querySelectorAll('object, .docs-body img')]
            .map((e) => [e.src || e.data, e.getBoundingClientRect().width]),
        textFirst: text.bottom <= navigation.top,
    };
}"""


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
def manual_page(chromium):
    """Return a browser's page without a network that records requests and errors."""
    with chromium.new_context(offline=True) as context:
        context.add_init_script(path=Path(__file__).parent / 'measures.js')
        page = context.new_page()
        page.asked, page.wrong = [], []
        page.on('request', lambda request: page.asked.append(request.url))
        page.on('console', lambda message: page.wrong.append(message.text))
        page.on('pageerror', lambda error: page.wrong.append(str(error)))
        yield page


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
        found[scheme] = page.evaluate('poorContrasts()')
    page.emulate_media(media='print')
    found['print'] = {
        'contrast': page.evaluate('poorContrasts()'),
        'cut off': _layout(page, PAPER)['scrolling'],
        'navigation': page.locator('.docs-sidebar, .docs-actions').filter(visible=True).count(),
    }
    page.emulate_media(media='screen')
    found['header'] = page.evaluate(
        """() => {
            const parts = [...document.body.children];
            const content = parts.findIndex((e) => e.matches('.docs-book-wrapper'));
            return parts.slice(0, content).map((e) => e.innerText.trim()).join(' ');
        }"""
    )
    found['links'] = page.evaluate(
        """() => [...document.querySelectorAll('a[href^=http], form')].filter((e) => (
            !e.closest('.docs-body') && !e.closest('.docs-sidebar form')
        )).map((e) => e.outerHTML)"""
    )
    return found


def _layout(page, width):
    page.set_viewport_size({'width': width, 'height': 900})
    page.evaluate(DRAWN)
    return page.evaluate(LAYOUT)


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


def test_wide_tables_code_and_pictures_scroll_by_themselves(measured):
    """Wide tables, code blocks and pictures scroll in boxes of their own."""
    assert {at: found for at, found in _by_page(measured, 'clipped').items() if found} == {}


def test_boxes_take_the_focus_only_while_they_scroll(measured):
    """The Tab key reaches exactly those boxes whose content is wider than they are."""
    assert {at: found for at, found in _by_page(measured, 'unfocusable').items() if found} == {}


def test_text_at_any_width_is_legible(measured):
    """All text has at least 11 pixels."""
    assert {at: found for at, found in _by_page(measured, 'small').items() if found} == {}


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
