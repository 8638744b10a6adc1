"""The report in a browser: offline, by keyboard, in both color schemes, without scripts."""

import itertools

import pytest

CONTRAST = """() => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const parse = (text) => {  // by painting it: computed colors may be of any notation
        canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
    };
    const blend = (c, u, alpha) => c * alpha + u * (1 - alpha);
    const over = (top, under) => (
        top.slice(0, 3).map((c, i) => blend(c, under[i], top[3])).concat(1)
    );
    const luminance = (c) => {
        const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        const [r, g, b] = c.slice(0, 3).map((v) => linear(v / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (e) => {
        const chain = [];
        for (let at = e; at; at = at.parentElement) {
            chain.unshift(parse(getComputedStyle(at).backgroundColor));
        }
        return chain.reduce((under, top) => over(top, under), [255, 255, 255, 1]);
    };
    document.querySelectorAll('details').forEach((d) => { d.open = true; });
    const poor = [];
    for (const e of document.querySelectorAll('body *')) {
        const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
        if (!own || !e.getClientRects().length || e.closest('script, style, desc, title')) continue;
        const style = getComputedStyle(e);
        const color = e.closest('svg') ? style.fill : style.color;
        const [a, b] = [luminance(parse(color)), luminance(behind(e))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const name = e.className?.baseVal ?? e.className;
        if (ratio < 4.5) poor.push([e.tagName, name, ratio.toFixed(2)].join(' '));
    }
    return [...new Set(poor)];
}"""
FOCUSED = """() => {
    const e = document.activeElement, style = getComputedStyle(e);
    const box = e.getBoundingClientRect();
    const name = e.className.baseVal ?? e.className;
    return {
        what: e.tagName.toLowerCase() + '.' + name, text: e.textContent.slice(0, 40),
        outlined: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
        top: box.top, left: box.left,
    };
}"""


def test_page_loads_no_other_resource_and_logs_no_error(visit, report_file):
    """The page requests nothing but itself, and the console stays empty."""
    page = visit()

    assert page.asked == [report_file.as_uri()]
    assert page.wrong == []


def test_tab_key_moves_a_visible_focus_in_order(visit):
    """The tab key reaches links, charts and tables in order, with a visible focus."""
    page = visit()
    seen = []
    for _ in range(15):
        page.keyboard.press('Tab')
        seen.append(page.evaluate(FOCUSED))

    assert (seen[0]['text'], seen[0]['top'] >= 0, seen[0]['left'] >= 0) == (
        'Skip to the charts',
        True,
        True,
    )
    assert [one['what'] for one in seen[1:5]] == ['a.'] * 4
    charts = page.locator('figure').count()
    assert {one['what'] for one in seen[5 : 5 + charts]} == {'svg.chart', 'svg.chart small'}
    assert seen[5 + charts]['what'] == 'summary.'
    assert all(one['outlined'] for one in seen), [one for one in seen if not one['outlined']]


def test_skip_link_leads_to_the_charts(visit):
    """The skip link moves the focus to the first chart."""
    page = visit()

    page.keyboard.press('Tab')
    page.keyboard.press('Enter')
    page.keyboard.press('Tab')

    assert page.evaluate(FOCUSED)['what'] == 'svg.chart'


def test_arrow_keys_on_a_chart_read_it_step_by_step(visit):
    """The arrow keys read a chart step by step."""
    page = visit()
    chart = page.locator('svg.chart').first
    readout = page.locator('.readout').first
    chart.focus()
    last = page.evaluate("JSON.parse(document.getElementById('data').textContent).length") - 1

    told = {}
    for key in ('ArrowRight', 'ArrowRight', 'ArrowLeft', 'End', 'ArrowRight', 'Home', 'ArrowLeft'):
        page.keyboard.press(key)
        told.setdefault(key, []).append(readout.inner_text().split(':')[0])

    assert told == {
        'ArrowRight': ['Step 0', 'Step 1', f'Step {last}'],
        'ArrowLeft': ['Step 0', 'Step 0'],
        'End': [f'Step {last}'],
        'Home': ['Step 0'],
    }
    assert page.locator('.cursor.there').count() == page.locator('svg.chart').count()
    assert readout.get_attribute('aria-live') == 'polite'
    assert 'placement-worker: ' in readout.inner_text()


def test_pointer_on_a_chart_reads_the_step(visit):
    """The pointer reads the step below it."""
    page = visit()
    chart = page.locator('svg.chart').nth(1)
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()

    page.mouse.move(box['x'] + box['width'] - 2, box['y'] + box['height'] / 2)

    last = page.evaluate("JSON.parse(document.getElementById('data').textContent).length") - 1
    assert page.locator('.readout').nth(1).inner_text().startswith(f'Step {last}: ')
    assert page.locator('.readout').first.inner_text() == ''


def test_keyboard_opens_a_decision(visit):
    """The keyboard alone opens a decision."""
    page = visit()
    first = page.locator('#step-1')
    first.locator('summary').focus()

    page.keyboard.press('Enter')
    opened = first.get_attribute('open')
    page.keyboard.press('Space')

    assert opened is not None
    assert first.get_attribute('open') is None


def test_link_of_a_step_opens_its_decisions(visit):
    """The number of a step links to its decisions, and opens them."""
    page = visit()
    page.evaluate("document.querySelector('.rows').open = true")
    page.locator('#numbers a[href="#step-2"]').focus()

    page.keyboard.press('Enter')

    page.wait_for_selector('#step-2[open]')
    assert page.evaluate("document.activeElement.closest('details').id") == 'step-2'
    assert page.locator('#step-2 table').first.is_visible()


def test_buttons_open_and_close_all_decisions(visit):
    """Two buttons open and close all decisions."""
    page = visit()
    count = page.locator('#decisions details').count()

    page.get_by_role('button', name='Open all').press('Enter')
    opened = page.locator('#decisions details[open]').count()
    page.get_by_role('button', name='Close all').press('Enter')

    assert (opened, page.locator('#decisions details[open]').count()) == (count, 0)


@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_text_has_enough_contrast(visit, scheme):
    """All text has a contrast of at least 4.5 in the light and the dark scheme."""
    page = visit(color_scheme=scheme)

    background = page.evaluate(
        'getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)'
    )

    assert (max(background) < 60) is (scheme == 'dark')
    assert page.evaluate(CONTRAST) == []


WIDTHS = [320, 360, 600, 1280]


@pytest.mark.parametrize('width', WIDTHS)
def test_page_at_any_width_has_no_overflow(visit, width):
    """The page does not scroll sideways at any width."""
    page = visit(width)
    page.get_by_role('button', name='Open all').click()

    assert page.evaluate('document.documentElement.scrollWidth') <= width


@pytest.mark.parametrize('width', WIDTHS)
def test_text_at_any_width_is_legible(visit, width):
    """All text has at least 12 pixels on the screen, the text of charts included."""
    small = visit(width).evaluate(
        """() => [...document.querySelectorAll('body *')].filter((e) => {
            const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
            if (!own || !e.getClientRects().length || e.closest('script, style')) return false;
            const scale = e.getScreenCTM ? e.getScreenCTM().d : 1;
            return parseFloat(getComputedStyle(e).fontSize) * scale < 12;
        }).map((e) => e.textContent)"""
    )

    assert small == []


@pytest.mark.parametrize('width', WIDTHS)
def test_axes_at_any_width_contain_their_lines(visit, width):
    """No line and no column leaves the area between the axes of its chart."""
    outside = visit(width).evaluate(
        """() => [...document.querySelectorAll('svg.chart')].filter((chart) => {
            const edges = [...chart.querySelectorAll('.grid, .zero')]
                .map((line) => line.getBoundingClientRect());
            const drawn = [...chart.querySelectorAll('.shapes path')]
                .map((path) => path.getBoundingClientRect()).filter((box) => box.height);
            return !edges.length || drawn.some((box) => (
                box.top < Math.min(...edges.map((edge) => edge.top)) - 2
                || box.bottom > Math.max(...edges.map((edge) => edge.bottom)) + 2
                || box.left < edges[0].left - 2 || box.right > edges[0].right + 2
            ));
        }).map((chart) => chart.id)"""
    )

    assert outside == []


@pytest.mark.parametrize('width', WIDTHS)
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
                bands.every((band) => fill(band) === fill(entry) && fill(band) !== card),
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
    assert page.evaluate(CONTRAST) == []


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


def test_headings_descend_one_level_at_a_time(visit):
    """Headings skip no level."""
    levels = visit().evaluate(
        "[...document.querySelectorAll('h1, h2, h3, h4, h5')].map((h) => Number(h.tagName[1]))"
    )

    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))


def test_parts_have_roles_and_names(visit):
    """Assistive technology finds each part by its role and name."""
    page = visit()

    assert page.get_by_role('main').count() == 1
    assert page.get_by_role('navigation', name='Page').count() == 1
    for name in ('Charts', 'All numbers', 'Decisions', 'Terms'):
        assert page.get_by_role('region', name=name, exact=True).count() >= 1
    assert page.get_by_role('img', name='Nodes by place').count() == 2
    page.evaluate("document.querySelector('.rows').open = true")
    assert page.get_by_role('columnheader', name='What happens').count() == 1


def test_page_without_scripts_is_complete(visit):
    """Without scripts the page shows all charts, numbers and decisions."""
    page = visit(java_script_enabled=False)

    page.locator('#step-1 summary').click()

    assert page.locator('#step-1 table').last.is_visible()
    assert page.locator('svg.chart').first.is_visible()
