"""The report in a browser: offline, by pointer and keyboard, and without scripts."""

import itertools

import pytest

# The pages differ in their numbers alone; test_report_layout.py looks at those of all scenarios.
pytestmark = pytest.mark.parametrize('report_file', ['zone-outage'], indirect=True)


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
        seen.append(page.evaluate('measure.focused()'))

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

    assert page.evaluate('measure.focused()')['what'] == 'svg.chart'


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
