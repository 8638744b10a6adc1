"""The layout of the report: legible at any width, in both color schemes, and in print."""

import pytest

NARROWEST_DESKTOP = 601
WIDTHS = [320, 360, 600, NARROWEST_DESKTOP, 1280]


@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_text_and_marks_have_enough_contrast(visit, scheme):
    """Text has a contrast of at least 4.5; lines, columns, flags and edges of outages have 3."""
    page = visit(color_scheme=scheme)

    background = page.evaluate(
        'getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)'
    )

    assert (max(background) < 60) is (scheme == 'dark')
    assert page.evaluate('measure.poorMarks()') == []
    assert page.evaluate('measure.poorContrasts()') == []


@pytest.mark.parametrize('width', WIDTHS)
def test_page_at_any_width_has_no_overflow(visit, width):
    """The page does not scroll sideways at any width."""
    page = visit(width)
    page.get_by_role('button', name='Open all').click()

    assert page.evaluate('document.documentElement.scrollWidth') <= width


@pytest.mark.parametrize('width', WIDTHS)
def test_charts_at_any_width_are_legible(visit, width):
    """All text has at least 12 pixels, none covers another, and no line leaves its axes."""
    page = visit(width)

    for wrong in ('smallTexts(12)', 'crossedAxes()', 'overlappingTexts()'):
        assert page.evaluate(f'measure.{wrong}') == [], wrong


def test_charts_on_a_phone_show_few_numbers_of_steps(visit):
    """On a phone, a chart shows at most six numbers of steps."""
    counts = visit(360).evaluate('measure.countsOfNumbers()')

    assert all(1 < count <= 6 for count in counts), counts


@pytest.mark.parametrize('report_file', ['zone-outage'], indirect=True)
@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_each_chart_shades_the_outage_and_explains_the_shading(visit, scheme):
    """Each chart has a visible shading, and its legend the same one with a name."""
    page = visit(color_scheme=scheme)

    shades = page.evaluate('measure.shades()')

    assert shades == [[True, True, True, 'outage: az2 (steps 5 to 10)']] * 4


def test_print_shows_every_row_of_the_numbers(visit):
    """Print shows all rows and columns, although a long table is closed on the screen."""
    page = visit(794)
    rows = page.locator('#numbers tbody tr').count()

    page.emulate_media(media='print')

    assert page.evaluate('measure.shownRows()') == rows


@pytest.mark.parametrize('report_file', ['zone-outage'], indirect=True)
def test_print_in_the_dark_scheme_is_light(visit):
    """A page that is dark on the screen is printed on white paper with dark text."""
    page = visit(794, color_scheme='dark')

    page.emulate_media(media='print', color_scheme='dark')

    background = 'getComputedStyle(document.body).backgroundColor'
    assert page.evaluate(background) == 'rgb(255, 255, 255)'
    assert page.evaluate('measure.poorContrasts()') == []


def test_table_on_the_screen_hides_no_row_once_it_is_open(visit):
    """The open table has its full height, and the line above it has the number of its rows."""
    page = visit(360)
    rows = page.locator('#numbers tbody tr').count()

    page.evaluate("document.querySelector('.rows').open = true")

    assert page.locator('.rows summary').inner_text().startswith(f'{rows} rows')
    hidden = page.locator('.rows .scroll').evaluate('(e) => e.scrollHeight - e.clientHeight')
    assert hidden <= 0


@pytest.mark.parametrize('report_file', ['load-balancer'], indirect=True)
def test_flags_on_a_desktop_have_the_number_of_their_step(visit):
    """On a desktop, each flag of a large chart has its number, also beside another flag."""
    flags = visit(NARROWEST_DESKTOP).evaluate('measure.flags()')

    assert flags == [['3', '5', '6', '8']] * 3


@pytest.mark.parametrize('report_file', ['zone-outage'], indirect=True)
@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_numbers_on_a_phone_mark_whole_rows_and_show_their_caption(visit, scheme):
    """A row that changes the cloud has one background; the caption wraps within the window."""
    page = visit(360, color_scheme=scheme)

    rows = page.evaluate('measure.backgroundsOfRows()')
    caption = page.locator('#numbers caption span').bounding_box()

    assert {len(colors) for colors in rows} == {1}
    assert len({colors[0] for colors in rows}) == 2
    assert caption['x'] + caption['width'] < 360


@pytest.mark.parametrize('report_file', ['zone-outage'], indirect=True)
def test_panels_in_a_row_align_beside_a_title_of_several_lines(visit):
    """The charts of a row are at the same height, whatever the length of their titles."""
    page = visit(1180)
    tops = """() => [...document.querySelectorAll('.panels svg.chart')]
        .map((chart) => chart.getBoundingClientRect().top)"""
    before = page.evaluate(tops)

    page.locator('.plot h4').first.evaluate("(e) => { e.textContent = 'zone '.repeat(20); }")

    after = page.evaluate(tops)
    assert len(set(after)) == 1
    assert after[0] > before[0]
