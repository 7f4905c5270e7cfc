"""The report's page in a real browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pdb_agent.report.build import PAGE, build_report

from tests.pdb_agent.report.made_runs import BASE, PLAIN, write_run

if TYPE_CHECKING:
    from tests.pdb_agent.report.conftest import Open

pytestmark = pytest.mark.slow

CONTRAST = """() => {
  const channel = (value) => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map(channel);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const paper = getComputedStyle(document.documentElement).backgroundColor;
  const kinds = ["p.note", "figcaption", "a", "#findings li", "td", "th button"];
  kinds.push(".marks .solved", ".marks .failed");
  const html = kinds.map((kind) => [kind, getComputedStyle(document.querySelector(kind)).color]);
  const svg = ["svg .soft", "svg .label", "svg .name"].map(
    (kind) => [kind, getComputedStyle(document.querySelector(kind)).fill]);
  return [...html, ...svg].map(([kind, colour]) => [kind, ratio(colour, paper)]);
}"""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    run = write_run(folder / "run", {"debug": BASE, "no-debugger": PLAIN}, tasks=12, repetitions=4)
    build_report([run], folder / "out")
    return folder / "out" / PAGE


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_the_paper(open_page: "Open", page_file: Path, scheme: str) -> None:
    page = open_page(page_file, color_scheme=scheme)

    ratios: list[tuple[str, float]] = page.evaluate(CONTRAST)

    assert [(kind, ratio) for kind, ratio in ratios if ratio < 4.5] == []


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_the_page_never_scrolls_sideways_and_letters_stay_readable(
    open_page: "Open", page_file: Path, width: int
) -> None:
    page = open_page(page_file, viewport={"width": width, "height": 800})

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    heights: list[float] = page.evaluate(
        "[...document.querySelectorAll('svg text')].map((one) => one.getBoundingClientRect().height)"
    )
    assert min(heights) >= 10


def test_a_table_is_sorted_by_keyboard_and_says_so(open_page: "Open", page_file: Path) -> None:
    page = open_page(page_file)
    head = page.locator("table.grid th[scope=col]", has_text="no-debugger")
    head.locator("button").focus()
    page.keyboard.press("Enter")

    assert head.get_attribute("aria-sort") == "ascending"
    shares: list[float] = page.evaluate(
        "[...document.querySelectorAll('table.grid tbody tr')]"
        ".map((row) => Number(row.cells[1].querySelector('[data-sort]').dataset.sort))"
    )
    assert shares == sorted(shares)
    assert len(set(shares)) > 1
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"


def test_numbers_are_sorted_as_numbers(open_page: "Open", page_file: Path) -> None:
    page = open_page(page_file)
    page.get_by_role("button", name="debug: calls", exact=True).click()

    counts: list[str] = page.evaluate(
        "[...document.querySelectorAll('#tools tbody tr')].map((row) => row.cells[5].textContent)"
    )
    numbers = [int(text) for text in counts if text != "·"]
    assert numbers == sorted(numbers)
    assert len(numbers) > 3


def test_the_theme_can_be_chosen_against_the_systems(open_page: "Open", page_file: Path) -> None:
    page = open_page(page_file, color_scheme="dark")
    paper: Any = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(paper)

    page.get_by_role("button", name="Theme: system").click()

    assert page.get_by_role("button", name="Theme: light").count() == 1
    assert page.evaluate(paper) != dark


def test_every_figure_says_in_words_what_it_shows(open_page: "Open", page_file: Path) -> None:
    page = open_page(page_file)

    described: list[str] = page.evaluate(
        "[...document.querySelectorAll('figure svg')].map((one) => one.getAttribute('aria-label'))"
    )
    assert len(described) == 7
    assert all(described)
    assert page.evaluate("document.querySelectorAll('svg title').length") > 50


def test_figures_stay_inside_their_frames(open_page: "Open", page_file: Path) -> None:
    page = open_page(page_file)

    outside: list[str] = page.evaluate(
        """[...document.querySelectorAll('figure svg')].flatMap((svg) => {
          const frame = svg.getBoundingClientRect();
          return [...svg.querySelectorAll('text, rect, circle')].filter((one) => {
            const box = one.getBoundingClientRect();
            return box.left < frame.left - 6 || box.right > frame.right + 6 || box.bottom > frame.bottom + 2;
          }).map((one) => `${svg.parentElement.id}: ${one.textContent}`);
        })"""
    )
    assert outside == []
