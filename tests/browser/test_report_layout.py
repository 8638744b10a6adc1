"""The layout of the report: legible at any width, in both color schemes, and in print."""

import pytest

WIDTHS = [320, 360, 600, 1280]
NARROWEST_DESKTOP = 601


@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_text_has_enough_contrast(visit, scheme):
    """All text has a contrast of at least 4.5 in the light and the dark scheme."""
    page = visit(color_scheme=scheme)

    background = page.evaluate(
        'getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)'
    )

    assert (max(background) < 60) is (scheme == 'dark')
    assert page.evaluate('poorContrasts()') == []


@pytest.mark.parametrize('width', WIDTHS)
def test_page_at_any_width_has_no_overflow(visit, width):
    """The page does not scroll sideways at any width."""
    page = visit(width)
    page.get_by_role('button', name='Open all').click()

    assert page.evaluate('document.documentElement.scrollWidth') <= width


@pytest.mark.parametrize('width', WIDTHS)
def test_text_at_any_width_is_legible(visit, width):
    """All text has at least 12 pixels on the screen, the text of charts included."""
    assert visit(width).evaluate('smallTexts(12)') == []


@pytest.mark.parametrize('width', WIDTHS)
def test_axes_at_any_width_contain_their_lines(visit, width):
    """No line and no column leaves the area between the axes of its chart."""
    outside = visit(width).evaluate(
        """() => [...document.querySelectorAll('svg.chart')].filter((chart) => {
            const edges = [...chart.querySelectorAll('.grid, .zero')]
                .map((line) => line.getBoundingClientRect());
            const drawn = [...chart.querySelectorAll('.shapes path')]
                .map((path) => path.getBoundingClientRect()).filter((box) => box.height);
            const area = chart.getBoundingClientRect();
            return !edges.length || edges.some((edge) => edge.top < area.top
                || edge.bottom > area.bottom) || drawn.some((box) => (
                box.top < Math.min(...edges.map((edge) => edge.top)) - 2
                || box.bottom > Math.max(...edges.map((edge) => edge.bottom)) + 2
                || box.left < edges[0].left - 2 || box.right > edges[0].right + 2
            ));
        }).map((chart) => chart.id)"""
    )

    assert outside == []


def test_charts_on_a_phone_show_few_numbers_of_steps(visit):
    """On a phone, a chart shows at most six numbers of steps."""
    counts = visit(360).evaluate(
        """() => [...document.querySelectorAll('svg.chart')].map((chart) => (
            [...chart.querySelectorAll('.tick[text-anchor=middle]')]
                .filter((text) => text.getClientRects().length).length
        ))"""
    )

    assert all(1 < count <= 6 for count in counts), counts


@pytest.mark.parametrize('width', [*WIDTHS, NARROWEST_DESKTOP])
def test_texts_of_a_chart_at_any_width_do_not_overlap(visit, width):
    """No text of a chart covers another one or leaves the card of its chart."""
    crossed = visit(width).evaluate(
        """() => [...document.querySelectorAll('svg.chart')].flatMap((chart) => {
            const texts = [...chart.querySelectorAll('text')]
                .filter((text) => text.getClientRects().length);
            const boxes = texts.map((text) => text.getBoundingClientRect());
            const card = chart.closest('figure').getBoundingClientRect();
            return texts.filter((_, i) => (
                boxes[i].left < card.left || boxes[i].right > card.right
                || boxes.some((box, j) => j > i && box.left < boxes[i].right
                    && boxes[i].left < box.right && box.top < boxes[i].bottom - 4
                    && boxes[i].top < box.bottom - 4)
            )).map((text) => `${chart.id}: ${text.textContent}`);
        })"""
    )

    assert crossed == []


@pytest.mark.parametrize('report_file', ['zone-outage'], indirect=True)
@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_each_chart_shades_the_outage_and_explains_the_shading(visit, scheme):
    """Each chart has a visible shading, and its legend the same one with a name."""
    page = visit(color_scheme=scheme)

    shades = page.evaluate(
        """() => [...document.querySelectorAll('figure')].map((figure) => {
            const fill = (e) => getComputedStyle(e).fill;
            const card = getComputedStyle(figure).backgroundColor;
            const [entry] = figure.querySelectorAll('.legend .outage');
            const bands = [...figure.querySelectorAll('svg.chart .outage')];
            return [bands.length === figure.querySelectorAll('svg.chart').length,
                bands.every((band) => band.getBoundingClientRect().width > 20),
                bands.every((band) => fill(band) === fill(entry)
                    && ![card, 'none'].includes(fill(band))),
                entry.closest('li').textContent.trim()];
        })"""
    )

    assert shades == [[True, True, True, 'outage: az2 (steps 5 to 10)']] * 4


@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_marks_of_charts_have_enough_contrast(visit, scheme):
    """Lines, columns, flags and edges of outages have a contrast of at least 3 to the card."""
    page = visit(color_scheme=scheme)

    poor = page.evaluate(
        """() => {
            const style = getComputedStyle(document.documentElement);
            const canvas = document.createElement('canvas').getContext('2d');
            const luminance = (name) => {
                canvas.fillStyle = style.getPropertyValue(name);
                canvas.fillRect(0, 0, 1, 1);
                const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => v / 255)
                    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const names = ['--s1', '--s2', '--s3', '--s4', '--s5', '--s6', '--s7', '--s8',
                '--rim', '--soft', '--zero', '--bad', '--ink'];
            return names.filter((name) => {
                const [a, b] = [luminance(name), luminance('--card')];
                return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 3;
            });
        }"""
    )

    assert poor == []


def test_print_shows_every_row_of_the_numbers(visit):
    """Print shows all rows and columns, although a long table is closed on the screen."""
    page = visit(794)
    rows = page.locator('#numbers tbody tr').count()

    page.emulate_media(media='print')

    shown = page.evaluate(
        """() => [...document.querySelectorAll('#numbers tbody tr')].filter((row) => {
            const [box, area] = [row, row.closest('.scroll')].map((e) => e.getBoundingClientRect());
            return row.checkVisibility({contentVisibilityAuto: true}) && box.height > 10
                && box.bottom <= area.bottom + 1 && box.right <= innerWidth;
        }).length"""
    )
    assert shown == rows


@pytest.mark.parametrize('report_file', ['zone-outage'], indirect=True)
def test_print_in_the_dark_scheme_is_light(visit):
    """A page that is dark on the screen is printed on white paper with dark text."""
    page = visit(794, color_scheme='dark')

    page.emulate_media(media='print', color_scheme='dark')

    background = 'getComputedStyle(document.body).backgroundColor'
    assert page.evaluate(background) == 'rgb(255, 255, 255)'
    assert page.evaluate('poorContrasts()') == []


def test_table_on_the_screen_hides_no_row_once_it_is_open(visit):
    """The open table has its full height, and the line above it has the number of its rows."""
    page = visit(360)
    rows = page.locator('#numbers tbody tr').count()

    page.evaluate("document.querySelector('.rows').open = true")

    assert page.locator('.rows summary').inner_text().startswith(f'{rows} rows')
    assert (
        page.evaluate(
            "(() => { const e = document.querySelector('.rows .scroll');"
            ' return e.scrollHeight - e.clientHeight; })()'
        )
        <= 0
    )


@pytest.mark.parametrize('report_file', ['load-balancer'], indirect=True)
def test_flags_on_a_desktop_have_the_number_of_their_step(visit):
    """On a desktop, each flag of a large chart has its number, also beside another flag."""
    flags = visit(NARROWEST_DESKTOP).evaluate(
        """() => [...document.querySelectorAll('svg.chart:not(.small)')].map((chart) => (
            [...chart.querySelectorAll('svg:has(.flag)')].map((flag) => (
                flag.querySelector('text')?.getClientRects().length && flag.textContent
            ))
        ))"""
    )

    assert flags == [['3', '5', '6', '8']] * 3


@pytest.mark.parametrize('report_file', ['zone-outage'], indirect=True)
@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_numbers_on_a_phone_mark_whole_rows_and_show_their_caption(visit, scheme):
    """A row that changes the cloud has one background; the caption wraps within the window."""
    page = visit(360, color_scheme=scheme)

    rows = page.evaluate(
        """() => [...document.querySelectorAll('#numbers tbody tr')].map((row) => (
            [...new Set([...row.cells].map((cell) => getComputedStyle(cell).backgroundColor))]
        ))"""
    )
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
