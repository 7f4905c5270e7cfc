"""Names that say nothing about what a function does."""

from pdb_agent.procedural.draw import Draw

# fmt: off
_FIRST = (
    "amber", "azure", "birch", "brass", "cedar", "clover", "cobalt", "copper", "coral", "dusky", "fern",
    "flint", "frost", "ginger", "hazel", "indigo", "ivory", "jasper", "juniper", "linen", "lunar", "maple",
    "marble", "mellow", "misty", "nutmeg", "ochre", "olive", "opal", "pebble", "pine", "plum", "quiet",
    "russet", "saffron", "sandy", "scarlet", "silver", "slate", "spruce", "tawny", "teal", "thistle",
    "tidal", "umber", "velvet", "violet", "walnut", "willow", "winter",
)
_SECOND = (
    "anchor", "badger", "basket", "beacon", "bramble", "bridge", "brook", "button", "candle", "canyon",
    "castle", "comet", "cottage", "cricket", "drum", "falcon", "feather", "fiddle", "forest", "fountain",
    "garden", "glacier", "harbor", "heron", "island", "kettle", "kite", "lagoon", "lantern", "lark",
    "magpie", "meadow", "mitten", "orchard", "otter", "parade", "pigeon", "pillow", "planet", "pocket",
    "puffin", "raven", "ribbon", "river", "rocket", "saddle", "sparrow", "teapot", "thimble", "tower",
    "trumpet", "tunnel", "turtle", "valley", "wagon", "whistle", "willet", "window", "wren", "zephyr",
)
# fmt: on
_SEQUENCES = (
    ("values", "value"),
    ("readings", "reading"),
    ("marks", "mark"),
    ("weights", "weight"),
    ("levels", "level"),
    ("prices", "price"),
    ("scores", "score"),
    ("heights", "height"),
    ("amounts", "amount"),
    ("samples", "sample"),
)
_SUMS = ("total", "tally", "result", "running", "gathered", "outcome")


def function_name(draw: Draw) -> str:
    """A name for a function and its module."""
    return f"{draw.pick(_FIRST)}_{draw.pick(_SECOND)}"


def sequence_names(draw: Draw) -> tuple[str, str]:
    """Names for a list of numbers and for one of them."""
    return draw.pick(_SEQUENCES)


def sum_name(draw: Draw) -> str:
    """A name for what a loop gathers."""
    return draw.pick(_SUMS)
