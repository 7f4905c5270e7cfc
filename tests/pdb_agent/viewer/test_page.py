"""The page in a real browser."""

from dataclasses import replace
from pathlib import Path

import pytest
from pdb_agent.viewer.build import build_page

from tests.pdb_agent.episode_making import act, done, episode
from tests.pdb_agent.viewer.conftest import Open
from tests.pdb_agent.viewer.scenes import FILES, debugged

pytest.importorskip("playwright", reason="tests of pages need playwright: make setup")
from playwright.sync_api import Browser, Locator, Page, expect

pytestmark = pytest.mark.slow
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


def current_line(page: Page) -> str:
    return page.locator(".row[aria-current] .number").inner_text()


def selected_tab(page: Page | Locator) -> Locator:
    return page.get_by_role("tab", selected=True)


def shot(page: Page, folder: Path, name: str) -> None:
    """Kept with the test's other artefacts, for people to look at."""
    page.screenshot(path=str(folder / f"{name}.png"))


def test_a_link_opens_its_turn_with_the_line_the_breakpoint_and_the_values(
    open_page: Open, one_page: Path, tmp_path: Path
):
    page = open_page(one_page, "#turn=5")
    expect(page.get_by_role("heading", level=1)).to_have_text("cart")
    expect(selected_tab(page)).to_have_text("cart.py")
    assert current_line(page) == "11"
    expect(page.get_by_role("img", name="breakpoint 1, if price > 1")).to_be_visible()
    changed = page.locator(".values .changed").first
    expect(changed).to_contain_text("result")
    expect(changed.locator("del")).to_have_text("0")
    expect(changed.locator("ins")).to_have_text("9")
    expect(page.locator(".stack li").nth(1)).to_contain_text("test_total")
    shot(page, tmp_path, "stop")


def test_the_bar_lies_on_the_current_line(open_page: Open, one_page: Path):
    page = open_page(one_page, "#turn=4", reduced_motion="reduce")
    bar, row = page.locator(".bar").bounding_box(), page.locator(".row[aria-current]").bounding_box()
    assert bar is not None
    assert row is not None
    assert abs(bar["y"] - row["y"]) < 1


def test_a_turn_shows_words_reasoning_call_and_answer(open_page: Open, one_page: Path):
    page = open_page(one_page, "#turn=4")
    turn = page.locator(".turn.current")
    expect(turn).to_contain_text("Run to the sum.")
    expect(turn).to_contain_text("The slice looks odd,")
    expect(turn.locator(".call.now")).to_contain_text("continue_execution")
    expect(turn.locator(".answer")).to_contain_text("new: self = Cart; result = 0; price = 9")


def test_an_edit_is_a_diff_and_the_source_has_the_new_line(open_page: Open, one_page: Path, tmp_path: Path):
    page = open_page(one_page, "#turn=9", color_scheme="dark")
    expect(page.locator(".diff-row.removed")).to_contain_text("self.prices[1:]")
    expect(page.locator(".diff-row.added")).to_contain_text("for price in self.prices:")
    expect(page.locator(".row[data-mark=edit]")).to_contain_text("for price in self.prices:")
    shot(page, tmp_path, "edit-dark")


def test_tests_are_shown_before_and_after_and_the_end_counts_hidden_ones(open_page: Open, one_page: Path):
    page = open_page(one_page, "#turn=10")
    row = page.locator(".tests tbody tr").first
    expect(row.locator("td").nth(0)).to_have_attribute("aria-label", "failed")
    expect(row.locator("td").nth(1)).to_have_attribute("aria-label", "passed")
    page.keyboard.press("End")
    expect(page.locator(".counts")).to_contain_text("hidden tests3 of 3")
    expect(page.locator(".masthead .verdict")).to_have_text("solved")


def test_keys_move_by_call_by_turn_and_to_the_ends(open_page: Open, one_page: Path):
    page = open_page(one_page, "#turn=3")
    place = page.locator(".position")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("location.hash") == "#turn=3.2"
    page.keyboard.press("ArrowRight")
    expect(place).to_have_text("turn 4 of 11")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Shift+ArrowRight")
    assert page.evaluate("location.hash") == "#turn=4"
    page.keyboard.press("Home")
    expect(place).to_have_text("the task")
    page.keyboard.press("End")
    expect(place).to_have_text("the end")
    assert page.evaluate("location.hash") == "#turn=end"


def test_space_plays_and_pauses(open_page: Open, one_page: Path):
    page = open_page(one_page, "#turn=1")
    page.clock.install()
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.clock.run_for(3_300)
    assert page.evaluate("location.hash") == "#turn=3"
    page.keyboard.press(" ")
    page.clock.run_for(10_000)
    assert page.evaluate("location.hash") == "#turn=3"


def test_playing_stops_at_the_end(open_page: Open, one_page: Path):
    page = open_page(one_page, "#turn=11")
    page.clock.install()
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(5_000)
    expect(page.locator(".position")).to_have_text("the end")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_the_slider_and_the_list_of_turns_go_to_a_turn(open_page: Open, one_page: Path):
    page = open_page(one_page)
    slider = page.get_by_role("slider", name="Turn")
    slider.fill("2")
    expect(slider).to_have_attribute("aria-valuetext", "turn 2 of 11")
    page.get_by_role("button", name="edit_file shop/cart.py").click()
    expect(page.locator(".position")).to_have_text("turn 9 of 11")


def test_tabs_show_other_files_until_the_next_move_and_obey_arrows(open_page: Open, one_page: Path):
    page = open_page(one_page, "#turn=4")
    page.get_by_role("tab", name="test_cart.py").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("def test_total():")
    assert page.locator(".row[aria-current]").count() == 0
    page.keyboard.press("ArrowRight")
    expect(selected_tab(page)).to_have_text("cart.py")
    assert page.evaluate("location.hash") == "#turn=4"
    page.get_by_role("tab", name="README.md").click()
    page.get_by_role("button", name="On", exact=True).click()
    expect(selected_tab(page)).to_have_text("cart.py")


def test_help_opens_by_its_key_and_closes_by_escape(open_page: Open, one_page: Path):
    page = open_page(one_page)
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".position")).to_have_text("the task")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_colours_follow_the_system_and_can_be_chosen(open_page: Open, one_page: Path):
    page = open_page(one_page, color_scheme="dark")
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(paper)
    page.keyboard.press("d")
    light = page.evaluate(paper)
    assert light != dark
    page.keyboard.press("d")
    assert page.evaluate(paper) == dark
    assert page.evaluate("localStorage.getItem('theme')") == "dark"


def test_colours_that_were_chosen_are_kept(open_page: Open, one_page: Path):
    page = open_page(one_page, color_scheme="light", storage={"theme": "dark"})
    expect(page.get_by_role("button", name="Colours: dark")).to_be_visible()
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_two_episodes_move_on_one_scrubber_and_the_shorter_one_waits_at_its_end(
    open_page: Open, pair_page: Path, tmp_path: Path
):
    page = open_page(pair_page, "#turn=2")
    base, trained = page.get_by_role("article", name="base"), page.get_by_role("article", name="trained")
    for pane in (base, trained):
        expect(pane.locator(".turn.current .turn-title")).to_have_text("Turn 2")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    expect(base.locator(".turn.current")).to_contain_text("The end")
    expect(base.locator(".pane-head .verdict")).to_have_text("not solved")
    expect(trained.locator(".turn.current .turn-title")).to_have_text("Turn 5")
    expect(trained.locator(".values .changed")).to_have_count(2)
    shot(page, tmp_path, "pair")


def test_a_phone_shows_one_column_without_scrolling_sideways(open_page: Open, one_page: Path, tmp_path: Path):
    page = open_page(one_page, "#turn=5", **PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    source, story = page.locator(".source").bounding_box(), page.locator(".story").bounding_box()
    assert source is not None
    assert story is not None
    assert source["y"] + source["height"] <= story["y"] + 1
    expect(page.locator(".turn:visible")).to_have_count(1)
    button = page.get_by_role("button", name="On", exact=True).bounding_box()
    assert button is not None
    assert button["y"] + button["height"] <= 844
    shot(page, tmp_path, "phone")


def test_a_phone_shows_one_of_two_episodes_and_switches(open_page: Open, pair_page: Path):
    page = open_page(pair_page, "#turn=5", **PHONE)
    expect(page.get_by_role("article", name="base")).to_be_visible()
    page.get_by_role("button", name="trained").tap()
    expect(page.get_by_role("article", name="base")).to_be_hidden()
    expect(page.get_by_role("article", name="trained")).to_be_visible()
    assert current_line(page) == "11"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_who_listens_is_told_each_move(open_page: Open, one_page: Path):
    page = open_page(one_page, "#turn=3")
    page.keyboard.press("Shift+ArrowRight")
    expect(page.get_by_role("status")).to_have_text(
        "Turn 4: continue_execution, stopped at shop/cart.py line 11 in Cart.total"
    )


def test_every_control_has_a_name_and_every_id_is_one_of_a_kind(open_page: Open, pair_page: Path):
    page = open_page(pair_page, "#turn=5")
    nameless = """[...document.querySelectorAll('button, [role=tab], [role=tabpanel], input')]
        .filter((one) => !(one.getAttribute('aria-label') || one.textContent.trim())).length"""
    assert page.evaluate(nameless) == 0
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(open_page: Open, one_page: Path, scheme: str):
    page = open_page(one_page, "#turn=5", color_scheme=scheme)
    pairs = page.evaluate(
        """() => {
        const style = getComputedStyle(document.documentElement);
        const value = (name) => style.getPropertyValue(name).trim();
        const inks = ['--ink', '--soft', '--accent', '--passed', '--failed', '--now-ink',
                      '--keyword', '--string', '--comment', '--number'];
        return [...inks.map((ink) => [ink, value(ink), value('--paper')]),
            ['--ink', value('--ink'), value('--now')], ['--soft', value('--soft'), value('--panel')]];
    }"""
    )
    faint = [
        (name, round(contrast(ink, ground), 2)) for name, ink, ground in pairs if contrast(ink, ground) < 4.5
    ]
    assert faint == []


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


HOSTILE = (
    "</script ><script >alert(1)</script ><!--<script ><img src=x onerror=alert(2)>\u2028{data}&lt;\x1b[2J"
)


def test_nothing_in_an_episode_can_act_on_the_page(open_page: Open, tmp_path: Path):
    call = replace(act("bash", HOSTILE, command=HOSTILE), name=f"bash{HOSTILE}")
    files = {**FILES, "shop/cart.py": f"x = '''{HOSTILE}'''\n", f"a{HOSTILE}.py": HOSTILE}
    made = episode(
        [[call], [done()]], files=files, task=HOSTILE, arm=HOSTILE, policy=HOSTILE, fail_to_pass=(HOSTILE,)
    )
    file = tmp_path / "hostile.html"
    build_page([made], file)
    page = open_page(file, "#turn=1")
    expect(page.locator(".answer")).to_contain_text(
        "</script ><script >alert(1)</script ><!--<script ><img src=x onerror=alert(2)>"
    )
    page.get_by_role("tab", name="cart.py", exact=True).click()
    expect(page.get_by_role("tabpanel")).to_contain_text("onerror=alert(2)")
    assert page.locator("img[src], body > script").count() == 2  # its data and its own script
    assert page.title().startswith("</script ><script >")


def test_a_page_runs_no_script_but_its_own(open_page: Open, one_page: Path, tmp_path: Path, browser: Browser):
    text = one_page.read_text(encoding="utf-8")
    file = tmp_path / "injected.html"
    file.write_text(
        text.replace("</body>", "<script>document.title = 'injected'</script></body>"), encoding="utf-8"
    )
    context = browser.new_context()  # not open_page: the page complains, as it should
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]")
    assert page.title() != "injected"
    context.close()


def test_a_long_episode_moves_quickly(open_page: Open, tmp_path: Path):
    """Fifty turns over a program of three thousand lines: a move takes well below a frame of playing."""
    files = {**FILES, "shop/long.py": "".join(f"value_{number} = {number}\n" for number in range(3_000))}
    read = replace(act("read_file", "…"), facts={"path": "shop/long.py", "first": 2_900, "last": 2_950})
    file = tmp_path / "long.html"
    build_page([episode([[read], [act("bash")]] * 25, files=files)], file)
    page = open_page(file)
    milliseconds = page.evaluate(
        """() => {
        const began = performance.now();
        for (let at = 0; at < 50; at++) {
            document.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
        }
        return (performance.now() - began) / 50;
    }"""
    )
    expect(page.locator(".position")).to_have_text("turn 50 of 50")
    page.keyboard.press("Shift+ArrowLeft")
    expect(page.get_by_text("value_2899 =", exact=False)).to_be_in_viewport()
    assert milliseconds < 200


def test_the_scene_is_solved_so_that_the_pages_differ():
    assert debugged().solved
