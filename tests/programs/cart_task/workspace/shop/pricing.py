"""Prices of a line in the cart."""


def line_price(price: float, quantity: int) -> float:
    """What ``quantity`` pieces cost."""
    return price * quantity
