import pytest

from sheet.drawing import Sheet
from sheet.kinds import Backdrop, Badge, Box, Caption, Panel, Pin


def test_badges_and_pins_lie_on_the_layers_they_were_given():
    sheet = Sheet(
        [
            Pin(name="far", symbol="dot", layer=-2),
            Badge(name="sign", symbol="star", layer=7),
            Panel(name="wall", layer=7),
            Pin(name="here", symbol="dot"),
        ]
    )
    assert sheet.layers() == {-2: ["far"], 5: ["here"], 7: ["sign", "wall"]}


def test_a_layer_is_not_written_into_the_drawing():
    badge = Badge(name="sign", symbol="star", layer=3, role="img")
    assert badge.svg() == '<use id="sign" role="img" x="0" y="0" href="#star"/>'
    assert badge.attributes == {"role": "img"}


def test_a_pin_that_is_moved_stays_on_its_layer():
    pin = Pin(name="here", symbol="dot", x=1, y=2, layer=9, fill="green")
    assert pin.moved(1, 1).options() == {
        "name": "here",
        "layer": 9,
        "x": 2,
        "y": 3,
        "symbol": "dot",
        "fill": "green",
        "stroke": "black",
    }


def test_a_replaced_badge_changes_its_layer():
    sheet = Sheet([Box(name="ground"), Badge(name="sign", symbol="star", layer=1)])
    sheet.replace(sheet.named("sign").changed(layer=-1))
    assert sheet.names() == ["sign", "ground"]
    with pytest.raises(KeyError):
        sheet.replace(Badge(name="other", symbol="moon"))


def test_a_pin_told_to_lie_on_the_ground_does():
    sheet = Sheet([Pin(name="here", symbol="dot", layer=0), Badge(name="sign", symbol="star", layer=1)])
    assert sheet.layers() == {0: ["here"], 1: ["sign"]}
    assert sheet.svg()[1] == '  <use id="here" x="0" y="0" href="#dot" fill="red" stroke="black"/>'


def test_a_caption_lies_under_a_badge_when_it_is_told_to():
    sheet = Sheet([Badge(name="sign", symbol="star"), Caption(name="title", text="Plan", size=20, layer=-1)])
    assert sheet.svg()[1:3] == [
        '  <text id="title" x="0" y="0" font-size="20">Plan</text>',
        '  <use id="sign" x="0" y="0" href="#star"/>',
    ]


def test_badges_and_backdrops_of_one_layer_are_drawn_in_their_turn():
    shapes = [
        Badge(name="a", symbol="s", layer=-10),
        Backdrop(name="b"),
        Badge(name="c", symbol="s", layer=-10),
    ]
    assert Sheet(shapes).names() == ["a", "b", "c"]


def test_changing_the_layer_of_a_badge_leaves_the_first_one_alone():
    badge = Badge(name="sign", symbol="star", layer=2)
    higher = badge.changed(layer=4)
    assert (badge.options()["layer"], higher.options()["layer"]) == (2, 4)
