"""The page of a report in a real browser: at two widths, in both color schemes, with hostile ledgers.

Skipped without Chromium; MEMORY_TEST_BROWSER=required makes that a failure. MEMORY_TEST_PICTURES=DIR keeps screenshots to look at.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.browser import Browser, find_browser
from tests.cli.report.month import write_month
from tests.project import Project

pytestmark = pytest.mark.slow  # a step of CI names this file

SCHEMES = ("light", "dark")
WIDTHS = (390, 1280)
# Returns the lowest contrast of text and background by the formula of WCAG 2, and the element that has it.
CONTRAST = """
(() => {
  const channel = v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const parts = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = parts(c).map(channel); return .2126 * r + .7152 * g + .0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor; const p = parts(c); if (p.length < 4 || p[3] > 0) return c; }
    return 'rgb(255, 255, 255)'; };
  let worst = 99, where = '';
  for (const e of document.querySelectorAll('h1,h2,h3,p,td,th,small,span,b,code,a,summary,li')) {
    if (!e.textContent.trim() || !e.getClientRects().length) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < worst) { worst = ratio; where = e.tagName + '.' + e.className + ': ' + e.textContent.slice(0, 40); }
  }
  return [worst, where];
})()
"""
# Returns the elements that reach beyond the right edge of the window.
WIDER = """
[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll') && !e.closest('svg')
  && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + '.' + e.className)
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find_browser()
    if program is None:
        assert os.environ.get("MEMORY_TEST_BROWSER") != "required", "no Chromium on the PATH"
        pytest.skip(
            "no Chromium: the page is not looked at (apt-get install chromium, or MEMORY_TEST_CHROMIUM=PATH)"
        )
    started = Browser(program, str(tmp_path_factory.mktemp("profile")))
    yield started
    started.close()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    project = Project(str(tmp_path_factory.mktemp("box")))
    write_month(project)
    path = os.path.join(os.path.dirname(project.root), "report.html")
    run = project.cli("report", "--out", path)
    assert run.returncode == 0, run.stderr
    return path


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_is_readable_and_loads_nothing(
    browser: Browser, page_file: str, width: int, scheme: str
) -> None:
    browser.requests.clear()
    browser.messages.clear()
    browser.show(page_file, width, scheme)
    folder = os.environ.get("MEMORY_TEST_PICTURES")
    if folder:
        os.makedirs(folder, exist_ok=True)
        browser.screenshot(os.path.join(folder, "report-%d-%s.png" % (width, scheme)))
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate(WIDER) == []
    ratio, where = browser.evaluate(CONTRAST)
    assert ratio >= 4.5, where
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == (
        "rgb(246, 247, 249)" if scheme == "light" else "rgb(15, 20, 26)"
    )
    assert browser.requests == ["file://" + page_file]
    assert browser.messages == []


def test_hostile_ledger_text_stays_text(browser: Browser, page_file: str) -> None:
    browser.show(page_file, 1280, "light")
    assert browser.evaluate("document.title") == "Memory report"
    assert browser.evaluate("document.querySelectorAll('script,img,iframe,object,link,form').length") == 0
    assert (
        browser.evaluate("document.body.innerText.includes(\"<script>document.title='taken'</script>\")")
        is True
    )
    assert browser.evaluate(r"/[\u202e\x1b]/.test(document.documentElement.outerHTML)") is False


def test_each_chart_has_a_text(browser: Browser, page_file: str) -> None:
    browser.show(page_file, 1280, "light")
    charts = browser.evaluate(
        "[...document.querySelectorAll('svg')].map(e => [e.getAttribute('role'), e.querySelector('title').textContent.length > 3])"
    )
    assert len(charts) == 3
    assert all(chart == ["img", True] for chart in charts)


def test_its_own_policy_refuses_scripts(browser: Browser, page_file: str) -> None:
    browser.show(page_file, 1280, "light")
    browser.messages.clear()
    browser.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"document.title=1\">'), 0"
    )
    browser.evaluate("new Promise(done => setTimeout(done, 200)), 0")
    assert browser.evaluate("document.title") == "Memory report"
    assert any("Content Security Policy" in text for text in browser.messages)
