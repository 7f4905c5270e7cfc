"""A browser for the report's page, which may ask nobody for anything."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
Open = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="tests of pages need playwright: make setup")
    if CHROMIUM is None:
        pytest.skip("no Chromium here: on Debian, apt install chromium")
    with (
        sync_api.sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=CHROMIUM) as found,
    ):
        yield found


@pytest.fixture
def open_page(browser: "Browser") -> Iterator[Open]:
    """Opens a page; the test fails when it logs anything or asks the network."""
    complaints: list[str] = []
    pages: list[Page] = []

    def open_file(file: Path, **options: Any) -> "Page":
        options.setdefault("viewport", {"width": 1280, "height": 900})
        page = browser.new_page(**options)
        pages.append(page)
        page.set_default_timeout(10_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: None if request.url.startswith("file:") else complaints.append(request.url),
        )
        page.goto(file.as_uri())
        return page

    yield open_file
    for page in pages:
        page.close()
    assert complaints == []
