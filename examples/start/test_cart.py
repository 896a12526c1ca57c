import unittest

from cart import discount, subtotal


class Cart(unittest.TestCase):
    def test_counts_every_piece(self):
        self.assertEqual(subtotal([(250, 2), (100, 3)]), 800)

    def test_empty(self):
        self.assertEqual(subtotal([]), 0)

    def test_discount(self):
        self.assertEqual(discount(1000, 15), 850)
