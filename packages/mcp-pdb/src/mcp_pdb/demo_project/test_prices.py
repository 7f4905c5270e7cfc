import unittest

from prices import Basket, checkout


class CheckoutTest(unittest.TestCase):
    def test_ten_per_cent_off(self):
        basket = Basket()
        basket.add("apple", 2.0, count=10)
        basket.add("bread", 3.5)
        self.assertEqual(checkout(basket, 10), 21.15)
