import pytest

from shop.cart import Cart, CartError


def test_an_empty_cart_costs_nothing():
    assert Cart().total() == 0


def test_two_items_are_added_up():
    cart = Cart()
    cart.add("pen", 2.0)
    cart.add("book", 5.0)
    assert cart.total() == 7


def test_a_negative_quantity_is_refused():
    cart = Cart()
    with pytest.raises(CartError):
        cart.add("pen", 2.0, -1)
    assert cart.names() == []
