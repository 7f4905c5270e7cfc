"""Orders of a small shop."""

from shelf.templates import Template


class Order:
    """What one customer wants."""

    def __init__(self, customer: str, items: list[str]) -> None:
        self.customer = customer
        self.items = items

    def add(self, item: str) -> None:
        """Put one more item on the order."""
        self.items.append(item)


def order_from(template: Template, customer: str) -> Order:
    """A new order that begins with the items of a template."""
    return Order(customer, template.starting_items())
