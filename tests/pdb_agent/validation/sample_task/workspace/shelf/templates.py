"""Items that orders begin with."""


class Template:
    """A named list of items."""

    def __init__(self, name: str, items: list[str]) -> None:
        self.name = name
        self._items = items

    def starting_items(self) -> list[str]:
        """The items of a new order."""
        return self._items
