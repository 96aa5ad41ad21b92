"""The page in a real browser: it is clicked, filtered, read back, resized, printed, and looked at in both colours.

Needs Chromium and its driver (Debian: ``chromium`` and ``chromium-driver``), and selenium; skips where one is missing.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from warpfix.measure.profile import Profile
from warpfix.measure.report import summary
from warpfix.page import Comparison, write_page
from warpfix.verify.reports import compare_reports

from .conftest import EVIL

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="Chromium and chromedriver are not installed"),
]

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1280,900"
)
OVERFLOWS = """
const wide = document.documentElement.clientWidth, found = [];
for (const element of document.querySelectorAll('body *')) {
  const box = element.getBoundingClientRect();
  if (box.width && box.right > wide + 0.5 && !element.closest('pre, .scroll, .skip, .hidden, svg'))
    found.push(element.tagName + '.' + element.className + ' ' + Math.round(box.right));
}
return [document.documentElement.scrollWidth - wide, found];
"""
CONTRASTS = """
const channel = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
const light = (c) => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
const parse = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length > 3 && n[3] === 0 ? null : n; };
const found = [];
for (const element of document.querySelectorAll('body *')) {
  const text = Array.from(element.childNodes).filter((n) => n.nodeType === 3).map((n) => n.data.trim()).join('');
  if (!text || !element.checkVisibility() || ['SCRIPT', 'STYLE', 'title'].includes(element.tagName)) continue;
  const style = getComputedStyle(element);
  const front = parse(element.tagName === 'text' ? style.fill : style.color);
  let back = null;
  for (let at = element; at && !back; at = at.parentElement) back = parse(getComputedStyle(at).backgroundColor);
  const [a, b] = [light(front), light(back || [255, 255, 255])].sort((x, y) => y - x);
  found.push([(a + 0.05) / (b + 0.05), text.slice(0, 40), String(element.className)]);
}
return found;
"""


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in [*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture(scope="module")
def address(profile: Profile, mended: Profile, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with everything on it: two arms, repeats, a ledger."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    ledger = {"columns": ["lever", "builds", "time"], "rows": [[EVIL, "5 -> 4", "-12 %"]], "notes": ["measured once"]}
    # Back to front, so that the details are those of the program with the repeats.
    write_page(path, mended, Comparison(profile, compare_reports(mended, profile)), ledger=ledger)
    return path.as_uri()


@pytest.fixture
def opened(chrome: Any, address: str) -> Iterator[Any]:
    """The page at 1280 px in light colours; whatever a test does, the console must stay empty."""
    emulate(chrome, 1280)
    chrome.get("about:blank")
    chrome.get(address)
    yield chrome
    assert [entry for entry in chrome.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []


def emulate(chrome: Any, width: int, scheme: str = "light", media: str = "") -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    # Without smooth scrolling, which the driver would not wait for.
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


def rows(chrome: Any) -> list[tuple[str, int]]:
    """Name and builds of each module that is to be seen, from top to bottom."""
    script = """return Array.from(document.querySelectorAll('#modules tbody tr')).filter((row) => row.checkVisibility())
        .map((row) => [row.querySelector('.module').textContent, Number(row.cells[1].textContent)])"""
    return [(name, builds) for name, builds in chrome.execute_script(script)]


def test_what_is_shown_is_what_was_measured(opened: Any, profile: Profile, mended: Profile) -> None:
    totals = summary(profile)
    assert dict(rows(opened)) == {name: value["builds"] for name, value in totals["modules"].items()}
    assert opened.find_element("css selector", "#tile-builds .value").text == str(totals["builds"])
    assert opened.find_element("id", "verdict").text == compare_reports(mended, profile).status.value
    times = opened.execute_script(
        "return Array.from(document.querySelectorAll('#modules tbody tr'), (r) => +r.dataset.ms)"
    )
    assert times == sorted((value["ms"] for value in totals["modules"].values()), reverse=True)


def test_names_are_text(opened: Any) -> None:
    assert opened.title.startswith("warpfix: python -m app")
    assert len(opened.find_elements("tag name", "script")) == 1
    assert opened.find_elements("css selector", "body b") == []
    names = [name for name, _ in rows(opened)]
    assert EVIL in names
    cells = [cell.text for cell in opened.find_elements("css selector", "#ledger tbody th, #ledger tbody td")]
    assert cells == [EVIL, "5 -> 4", "-12 %"]


def test_filter_and_sort(opened: Any) -> None:
    everything = rows(opened)
    field = opened.find_element("id", "filter")
    field.send_keys("TINY")
    assert rows(opened) == [("pkg.tiny", 2)]
    assert opened.find_element("id", "shown").text == f"1 of {len(everything)} shown"
    opened.execute_script("arguments[0].value = ''; arguments[0].dispatchEvent(new Event('input'))", field)
    assert rows(opened) == everything
    # A kernel's name finds its module too.
    field.send_keys("k2")
    assert rows(opened) == [(EVIL, 1)]
    opened.execute_script("arguments[0].value = ''; arguments[0].dispatchEvent(new Event('input'))", field)
    opened.find_element("id", "again").click()
    assert rows(opened) == [(name, builds) for name, builds in everything if builds > 1]
    opened.find_element("id", "again").click()
    name, time = (opened.find_element("css selector", f"#modules th[data-key={key}]") for key in ("name", "ms"))
    name.find_element("tag name", "button").click()
    assert name.get_attribute("aria-sort") == "ascending" and time.get_attribute("aria-sort") is None
    assert [one for one, _ in rows(opened)] == sorted(one for one, _ in everything)
    name.find_element("tag name", "button").click()
    assert [one for one, _ in rows(opened)] == sorted((one for one, _ in everything), reverse=True)
    time.find_element("tag name", "button").click()
    assert rows(opened) == everything


def test_a_bar_leads_to_its_module_even_if_it_is_filtered_away(opened: Any) -> None:
    opened.find_element("id", "filter").send_keys("nothing is called this")
    assert rows(opened) == []
    bar = opened.find_element("css selector", "a.bar")
    said = bar.get_attribute("aria-label")
    opened.execute_script("arguments[0].focus()", bar)
    assert said in [one.text for one in opened.find_elements("css selector", ".touched")]
    bar.send_keys("\n")
    assert len(rows(opened)) > 0
    focused = opened.switch_to.active_element
    assert focused.get_attribute("data-name") and focused.get_attribute("data-name") in said


def test_everything_can_be_reached_by_keyboard(opened: Any) -> None:
    reached = set()
    body = opened.find_element("tag name", "body")
    body.send_keys("\t")
    for _ in range(120):
        element = opened.switch_to.active_element
        if element.tag_name == "body" and reached:
            break
        outline = opened.execute_script(
            "const s = getComputedStyle(arguments[0]), f = arguments[0].querySelector('.frame');"
            "return s.outlineStyle !== 'none' || (f && getComputedStyle(f).strokeWidth === '2px')",
            element,
        )
        assert outline, element.get_attribute("outerHTML")[:120]
        reached.add(element.get_attribute("id") or element.tag_name)
        element.send_keys("\t")
    assert {"filter", "again", "button", "a", "summary", "pre"} <= reached


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_overflows(opened: Any, width: int) -> None:
    emulate(opened, width)
    for details in opened.find_elements("tag name", "details"):
        opened.execute_script("arguments[0].open = true", details)
    assert opened.execute_script("return innerWidth") == width
    assert opened.execute_script(OVERFLOWS) == [0, []]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(opened: Any, scheme: str) -> None:
    emulate(opened, 1280, scheme)
    opened.execute_script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    background = opened.execute_script("return getComputedStyle(document.documentElement).backgroundColor")
    assert (int(re.findall(r"\d+", background)[0]) < 60) == (scheme == "dark")
    found = opened.execute_script(CONTRASTS)
    assert len(found) > 50
    assert [one for one in found if one[0] < 4.5] == []


def test_print_shows_everything(opened: Any) -> None:
    everything = rows(opened)
    opened.find_element("id", "filter").send_keys("tiny")
    emulate(opened, 800, media="print")
    assert rows(opened) == everything
    script = "return Array.from(document.querySelectorAll(arguments[0]), (e) => e.checkVisibility({contentVisibilityAuto: true}) && e.getBoundingClientRect().height > 0)"
    kernels = opened.execute_script(script, ".kernels li")
    assert kernels and all(kernels)
    assert not any(opened.execute_script(script, ".controls, button.copy"))


def test_it_says_everything_without_its_script(chrome: Any, address: str, profile: Profile) -> None:
    chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        emulate(chrome, 1280)
        chrome.get(address)
        names = [one.text for one in chrome.find_elements("css selector", "#modules .module")]
        assert set(names) == set(summary(profile)["modules"])
        assert not chrome.find_element("id", "controls").is_displayed()
        summary_of_first = chrome.find_element("css selector", "#modules summary")
        assert not chrome.find_element("css selector", "#modules .kernels").is_displayed()
        summary_of_first.click()
        assert chrome.find_element("css selector", "#modules .kernels").is_displayed()
    finally:
        chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_motion_is_spared(opened: Any) -> None:
    script = "return getComputedStyle(document.documentElement).scrollBehavior"
    assert opened.execute_script(script) == "auto"
    features = [{"name": "prefers-reduced-motion", "value": "no-preference"}]
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
    assert opened.execute_script(script) == "smooth"


def test_the_page_is_small(address: str) -> None:
    assert Path(address.removeprefix("file://")).stat().st_size < 100_000
