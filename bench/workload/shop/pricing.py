"""Prices, in cents."""

from dataclasses import dataclass


@dataclass
class Line:
    """One line of a cart."""

    name: str
    unit_price: int
    quantity: int


def line_price(line: Line) -> int:
    """Price of one line; ten or more of a thing are a tenth cheaper."""
    price = line.unit_price * line.quantity
    if line.quantity > 10:
        rebate = price // 10
        price = price - rebate
    return price


def handling_charge(lines: list[Line]) -> int:
    """What packing the cart costs."""
    count = len(lines)
    charge = count * 15
    if charge > 100:
        charge = 100
    return charge
