"""The page of a run, in a real browser, and where a folder lacks something."""

from __future__ import annotations

import json
import shutil
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from flgames.cli import app
from flgames.report.html.live import Live
from flgames.report.html.render import LARGEST
from flgames.runs.command import chosen_of, command_of
from flgames.runs.folder import RunFolder
from flgames.runs.resolve import resolve
from flgames.runs.result import Result as ResultOfMatch
from flgames.runs.result import write_result
from tests.browser import axe, browser, show
from tests.own_data import disagreeing_tables

EVIL = "<script>alert(1)</script>"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on tables, with names that a careless page would run: a column's, and a client's that a server was told."""
    folder = tmp_path_factory.mktemp("page")
    data = disagreeing_tables(folder / "tables", 60)
    for path in data.glob("*.csv"):
        path.write_text(path.read_text().replace("age,mark,sick", f"age,{EVIL},sick"))
    told = ("--data", data, "--target", "sick", "--holdout", "c", "--rounds", 8, "--against-rounds", 4, "--threads", 1)
    result = run("play", *told, "--out", folder / "run")
    assert result.exit_code == 0, result.output
    assert str(folder / "run" / "report.html") in result.output
    for path in (folder / "run").rglob("*.json*"):  # names of clients are refused here; elsewhere somebody may not
        path.write_text(path.read_text().replace('"b"', json.dumps(EVIL)))
    for path in (folder / "run").rglob("result.json"):  # whoever can write it can make its hash
        saved = json.loads(path.read_text())
        write_result(path, ResultOfMatch.model_validate({name: saved[name] for name in saved if name != "sha256"}))
    assert run("report", folder / "run").exit_code == 0
    return folder / "run"


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with browser() as found:
        yield found


def test_it_is_small_and_its_names_are_escaped(played: Path) -> None:
    page = (played / "report.html").read_text()
    assert len(page.encode()) < LARGEST
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    for part in (
        "Unseen clients",
        "Round by round",
        "What the sites disagree about",
        "Bytes and seconds",
        "Model card",
    ):
        assert part in page, part


def test_its_command_plays_the_same(played: Path) -> None:
    settings = RunFolder.open(played).settings
    assert resolve(chosen_of(settings)) == settings
    assert command_of(settings).startswith("flgames play --data ")


@pytest.mark.parametrize("width", [390, 1440])
def test_it_opens_without_an_error_or_a_request(played: Path, driver: Any, width: int) -> None:
    driver.get_log("performance")
    driver.get_log("browser")
    show(driver, f"file://{played / 'report.html'}", width)
    assert not [each for each in driver.get_log("browser") if each["level"] in ("SEVERE", "WARNING")]
    events = [json.loads(each["message"])["message"] for each in driver.get_log("performance")]
    asked = [each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"]
    assert [each for each in asked if not each.startswith(("file://", "data:"))] == []
    figures = driver.execute_script(
        "return [...document.querySelectorAll('figure.chart')].map((f) => f.querySelectorAll('svg path').length)"
    )
    assert len(figures) >= 5
    assert all(figures), "every chart is drawn"
    wide = driver.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width


def test_hovering_toggling_and_sorting_change_what_is_shown(played: Path, driver: Any) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    show(driver, f"file://{played / 'report.html'}", 1440)
    chart = driver.find_element(By.CSS_SELECTOR, "figure.chart")
    marks = chart.find_elements(By.CSS_SELECTOR, ".mark-symbol path")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", marks[0])
    ActionChains(driver).move_to_element(marks[0]).perform()
    tip = WebDriverWait(driver, 10).until(
        lambda each: each.find_element(By.CSS_SELECTOR, "#vg-tooltip-element.visible")
    )
    assert "accuracy" in tip.text
    toggle = chart.find_element(By.CSS_SELECTOR, ".toggle")
    toggle.send_keys(Keys.SPACE)
    assert toggle.get_attribute("aria-pressed") == "false"
    WebDriverWait(driver, 10).until(
        lambda _: len(chart.find_elements(By.CSS_SELECTOR, ".mark-symbol path")) < len(marks)
    )
    head = driver.find_element(By.CSS_SELECTOR, "table.sortable thead th.number button")
    first = "return document.querySelector('table.sortable tbody th').textContent"
    before = driver.execute_script(first)
    head.send_keys(Keys.ENTER)
    after = driver.execute_script(first)
    head.send_keys(Keys.ENTER)
    assert {before, after, driver.execute_script(first)} != {before}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(played: Path, driver: Any, scheme: str) -> None:
    show(driver, f"file://{played / 'report.html'}", 390 if scheme == "dark" else 1440, scheme)
    driver.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
    # The page's own policy lets no other script run: axe comes in by the debugger's door.
    driver.execute_cdp_cmd("Runtime.evaluate", {"expression": axe()})
    found = driver.execute_cdp_cmd("Runtime.evaluate", {
        "expression": "axe.run().then((r) => JSON.stringify(r.violations.map((v) => [v.impact, v.id, v.nodes.map((n) => n.html.slice(0, 200)).slice(0, 3)])))",  # noqa: E501
        "awaitPromise": True, "returnByValue": True,
    })  # fmt: skip
    serious = [each for each in json.loads(found["result"]["value"]) if each[0] in ("serious", "critical")]
    assert serious == []


def test_a_name_can_not_run(played: Path, driver: Any) -> None:
    show(driver, f"file://{played / 'report.html'}", 1440)
    from selenium.webdriver.support.expected_conditions import alert_is_present

    assert not alert_is_present()(driver)
    assert driver.execute_script("return document.scripts.length") == 3, "the data, the library and the page's own"


def test_what_is_missing_is_left_out(played: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(played, copy)
    for path in copy.glob("f-fl-games-smooth/seed-0/*"):
        path.unlink()
    (copy / "environment.json").unlink()
    result = run("report", copy)
    assert result.exit_code == 0, result.output
    page = (copy / "report.html").read_text()
    assert "2 of 3 games have" in page
    assert "There is no model card" in page
    (copy / "plan.json").write_text("{")
    assert run("report", copy).exit_code == 0
    assert run("report", tmp_path).exit_code == 2


def test_two_runs_are_one_page_and_are_compared(played: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(played, other)
    told = json.loads((other / "settings.json").read_text()) | {"learning_rate": 0.5}
    (other / "settings.json").write_text(json.dumps(told))
    result = run("compare", played, other, "--out", tmp_path / "both.html")
    assert result.exit_code == 0, result.output
    assert "learning-rate" in result.output
    assert "+0.0" in result.output, "the same game twice"
    assert "--seeds" in result.output, "of one pair there is no interval"
    assert "Settings that differ" in (tmp_path / "both.html").read_text()
    assert run("compare", played, other, "--seeds", 2).exit_code == 2
    assert run("report", played, other, "--out", tmp_path / "two.html").exit_code == 0


def test_live_serves_this_machine_the_page_and_nothing_else(played: Path) -> None:
    def ask(path: str, host: str | None = None) -> tuple[int, str]:
        request = urllib.request.Request(server.address.rstrip("/") + path, headers={"Host": host} if host else {})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, ""

    with Live([RunFolder.open(played)]) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            assert server.server_address[0] == "127.0.0.1"
            code, page = ask("/")
            assert code == 200
            assert "data-live" in page
            assert "connect-src" in page
            before = ask("/stamp")[1]
            assert before == ask("/stamp")[1]
            with open(played / "f-fl-games-smooth" / "seed-0" / "probe.jsonl", "a"):
                pass
            (played / "f-fl-games-smooth" / "seed-0" / "measures.jsonl").touch()
            assert ask("/stamp")[1] != before
            assert ask("/", "example.org")[0] == 403
            assert ask("/settings.json")[0] == 404
            assert ask("/../../etc/passwd")[0] == 404
        finally:
            server.shutdown()
            thread.join()
