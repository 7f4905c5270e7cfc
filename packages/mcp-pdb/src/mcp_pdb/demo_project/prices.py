"""A shopping basket with one mistake in it."""


class Basket:
    def __init__(self):
        self.lines = []

    def add(self, name, price, count=1):
        self.lines.append({"name": name, "price": price, "count": count})

    def total(self):
        total = 0
        for line in self.lines:
            total += line["price"] * line["count"]
        return total


def discounted(total, percent):
    """``total`` less ``percent`` per cent of it."""
    return total - percent


def checkout(basket, percent):
    total = basket.total()
    to_pay = discounted(total, percent)
    return round(to_pay, 2)
