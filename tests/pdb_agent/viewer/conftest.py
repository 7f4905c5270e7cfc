"""A real browser for tests of pages: the system's Chromium, without a network."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pdb_agent.viewer.build import build_page

from tests.pdb_agent.viewer.scenes import debugged, given_up

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
Open = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Lives no longer than its module: while Playwright runs, its loop is this thread's running loop, and
    asynchronous tests of other modules could not have one of their own."""
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
    """Opens a built page; the test fails when it logs an error or asks the network for anything."""
    complaints: list[str] = []
    contexts: list[BrowserContext] = []

    def open_file(
        file: Path, fragment: str = "", storage: dict[str, str] | None = None, **options: Any
    ) -> "Page":
        options.setdefault("viewport", {"width": 1440, "height": 900})
        context = browser.new_context(**options)
        contexts.append(context)
        for name, value in (storage or {}).items():
            context.add_init_script(f"localStorage.setItem({json.dumps(name)}, {json.dumps(value)})")
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: complaints.extend(abroad(request.url)))
        page.goto(file.as_uri() + fragment)
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert complaints == []


def abroad(address: str) -> list[str]:
    return [] if address.startswith("file:") else [address]


@pytest.fixture(scope="session")
def one_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("viewer") / "one.html"
    build_page([debugged()], file)
    return file


@pytest.fixture(scope="session")
def pair_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("viewer") / "pair.html"
    build_page([given_up(), debugged()], file)
    return file
