from cart import total


def test_total():
    assert total([10, 20], discount=1) == 28
