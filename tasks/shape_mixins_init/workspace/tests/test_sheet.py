import pytest

from sheet.drawing import Sheet
from sheet.kinds import Backdrop, Badge, Box, Caption, Panel, Pin


def test_panels_are_drawn_by_layer():
    sheet = Sheet([Panel(name="top", layer=2), Box(name="ground"), Panel(name="low", layer=-1)])
    assert sheet.names() == ["low", "ground", "top"]


def test_a_badge_on_a_high_layer_is_drawn_over_a_panel():
    sheet = Sheet([Badge(name="sign", symbol="star", layer=3), Panel(name="wall", layer=1)])
    assert sheet.names() == ["wall", "sign"]


def test_a_badge_without_a_layer_is_drawn_in_its_turn():
    sheet = Sheet([Badge(name="sign", symbol="star"), Box(name="ground"), Pin(name="here", symbol="dot")])
    assert sheet.names() == ["sign", "ground", "here"]


def test_the_backdrop_is_drawn_first():
    sheet = Sheet([Box(name="ground"), Backdrop(name="sky", fill="blue")])
    assert sheet.svg() == [
        "<svg>",
        '  <rect id="sky" x="0" y="0" fill="blue" stroke="none" width="1" height="1"/>',
        '  <rect id="ground" x="0" y="0" fill="none" stroke="black" width="1" height="1"/>',
        "</svg>",
    ]


def test_free_attributes_are_written_as_they_are():
    badge = Badge(name="sign", symbol="star", x=2, y=3.5, role="img")
    assert badge.svg() == '<use id="sign" role="img" x="2" y="3.5" href="#star"/>'


def test_a_caption_is_written_with_its_text():
    caption = Caption(name="title", text="Salt & pepper", x=4)
    assert caption.svg() == '<text id="title" x="4" y="0" font-size="12">Salt &amp; pepper</text>'


def test_a_moved_panel_keeps_its_options():
    panel = Panel(name="wall", x=1, y=1, layer=4, width=6, role="main")
    assert panel.moved(2, 0).options() == {
        "name": "wall",
        "role": "main",
        "x": 3,
        "y": 1,
        "fill": "white",
        "stroke": "black",
        "width": 6,
        "height": 1,
        "layer": 4,
    }


def test_names_are_unique():
    sheet = Sheet([Box(name="ground")])
    with pytest.raises(ValueError, match="there is a shape ground already"):
        sheet.add(Panel(name="ground"))
    sheet.remove("ground", "sky")
    sheet.add(Panel(name="ground"))
    assert sheet.names() == ["ground"]
