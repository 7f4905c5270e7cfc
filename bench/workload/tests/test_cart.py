"""One test that fails: nobody wrote the price rule for exactly ten."""

from shop.cart import cart_total
from shop.pricing import Line
from shop.report import build_report


def test_cart_total():
    lines = [
        Line("pear", 137, 3),
        Line("plum", 211, 10),
        Line("quince", 353, 12),
        Line("medlar", 89, 7),
        Line("sloe", 41, 25),
    ]
    total = cart_total(lines, 499)
    assert build_report(total) == 160_000
