"""Debian's chromium without a window. Where it must not be missing: FLGAMES_BROWSER=required."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

REQUIRED = "FLGAMES_BROWSER"


def _missing() -> str | None:
    lacks = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"{' and '.join(lacks)} not found: apt-get install chromium chromium-driver" if lacks else None


@contextmanager
def browser() -> Iterator[Any]:
    """A driver of selenium's; or the test is skipped, and says what is missing."""
    if why := _missing():
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(why)
        pytest.skip(why)
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def show(driver: Any, address: str, width: int, scheme: str = "light") -> None:
    """Open a page, and wait until its charts are drawn."""
    from selenium.webdriver.support.ui import WebDriverWait

    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"media": "screen", "features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    driver.get(address)
    ready = "return document.documentElement.dataset.ready === 'true'"
    WebDriverWait(driver, 60).until(lambda each: each.execute_script(ready))


def axe() -> str:
    """axe-core's program."""
    package = pytest.importorskip("axe_core_python")
    return (Path(package.__file__).parent / "axe.min.js").read_text()
