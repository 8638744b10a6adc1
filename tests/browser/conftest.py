"""Reports and the manual in headless Chromium; tools/test-browser installs what they need."""

import shutil
from pathlib import Path

import pytest

from placement_worker.policies.registry import Registry
from placement_worker.simulation import report
from placement_worker.simulation.history import History
from placement_worker.simulation.run import played_steps
from placement_worker.simulation.scenario import shipped_scenarios
from tests.scenarios import load_scenario

HERE = Path(__file__).parent
NAMES = ('chromium', 'chromium-browser', 'google-chrome')
QUIET = (
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
)


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope='session')
def chromium():
    """Return the browser, one for all tests."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # the other tests do without it

    found = next(filter(None, map(shutil.which, NAMES)), None)
    assert found, (
        f'No Chromium is installed (looked for {", ".join(NAMES)}); run tools/test-browser'
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture(scope='session', params=shipped_scenarios())
def report_file(request, tmp_path_factory):
    """Return the report of each shipped scenario, compared with the greedy rule."""
    scenario = load_scenario(request.param)
    history = History(1000)
    for step in played_steps(scenario, Registry.installed(), explained=1000, compared=True):
        history.add(step)
    file = tmp_path_factory.mktemp('report') / 'report.html'
    file.write_text(report.page(scenario, history))
    return file


@pytest.fixture(scope='session')
def offline_page(chromium):
    """Return a function that makes a page without a network that records requests and errors."""

    def made(width=1180, **more):
        viewport = {'width': width, 'height': 900}
        context = chromium.new_context(viewport=viewport, offline=True, **more)
        context.add_init_script(path=HERE / 'measures.js')
        page = context.new_page()
        page.asked, page.wrong = [], []
        page.on('request', lambda request: page.asked.append(request.url))
        page.on('console', lambda message: page.wrong.append(message.text))
        page.on('pageerror', lambda error: page.wrong.append(str(error)))
        return page

    return made


@pytest.fixture
def visit(offline_page, report_file):
    """Return a function that opens the report."""
    pages = []

    def opened(width=1180, **more):
        pages.append(offline_page(width, **more))
        pages[-1].goto(report_file.as_uri())
        return pages[-1]

    yield opened
    for page in pages:
        page.context.close()
