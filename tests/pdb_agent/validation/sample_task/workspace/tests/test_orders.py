from shelf.orders import order_from
from shelf.templates import Template


def test_an_order_lists_its_items():
    order = order_from(Template("tea", ["cup", "pot"]), "Ada")
    assert order.items == ["cup", "pot"]


def test_orders_of_two_customers_stay_apart():
    template = Template("tea", ["cup"])
    first = order_from(template, "Ada")
    second = order_from(template, "Ben")
    first.add("spoon")
    second.add("cloth")
    assert second.items == ["cup", "cloth"]
