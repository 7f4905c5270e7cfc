"""Carts and their totals."""

from shop.pricing import Line, handling_charge, line_price


def cart_total(lines: list[Line], shipping: int) -> int:
    """Sum of all line prices, shipping and handling."""
    largest = ""
    highest = 0
    total = shipping + handling_charge(lines)
    for line in lines:
        price = line_price(line)
        total = total + price
        if price > highest:
            highest = price
            largest = line.name
    return total + len(largest)
