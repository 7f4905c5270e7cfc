"""A shopping cart."""

from shop.pricing import line_price


class CartError(ValueError):
    """The cart refuses what was put into it."""

    def __init__(self, message: str, quantity: int) -> None:
        super().__init__(message)
        self.quantity = quantity


class Cart:
    """Items with their prices, in the order in which they came."""

    def __init__(self) -> None:
        self.items: list[tuple[str, float, int]] = []

    def add(self, name: str, price: float, quantity: int = 1) -> None:
        """Put pieces of one thing into the cart. Raises CartError for a quantity below one."""
        if quantity < 1:
            raise CartError(f"cannot add {quantity} of {name}", quantity)
        self.items.append((name, price, quantity))

    def names(self) -> list[str]:
        """What is in the cart."""
        return [name for name, _, _ in self.items]

    def total(self) -> float:
        """The sum of all lines."""
        t = 0
        for _, price, quantity in self.items[1:]:
            t += line_price(price, quantity)
        return t
