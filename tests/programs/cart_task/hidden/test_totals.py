import pytest

from shop.cart import Cart, CartError


def filled(*lines):
    cart = Cart()
    for name, price, quantity in lines:
        cart.add(name, price, quantity)
    return cart


def test_one_item():
    assert filled(("lamp", 30.0, 1)).total() == 30


def test_quantities_count():
    assert filled(("lamp", 30.0, 2), ("bulb", 1.5, 4)).total() == 66


def test_three_items():
    cart = filled(("a", 1.0, 1), ("b", 3.0, 2), ("c", 4.0, 1))
    assert cart.total() == 11.0


@pytest.mark.parametrize(("p", "q"), [(2.5, 2), (3.0, 5), (0.25, 8)])
def test_one_line_costs_price_times_quantity(p, q):
    cart = filled(("x", p, q))
    assert cart.total() == p * q


def test_totals_are_near_enough():
    assert filled(("a", 0.1, 3), ("b", 0.2, 1)).total() == pytest.approx(0.5)


def test_names_keep_their_order():
    cart = filled(("pen", 1.0, 1), ("book", 1.0, 1))
    assert cart.names() == ["pen", "book"]


def test_a_refusal_tells_the_quantity():
    with pytest.raises(CartError, match="cannot add 0 of pen") as caught:
        Cart().add("pen", 1.0, 0)
    assert caught.value.quantity == 0


def test_the_empty_cart_has_no_names():
    cart = Cart()
    assert cart.total() == 0
    assert cart.names() == []
