import unittest
from fractions import Fraction

from recipes import Ingredient, parse


class Parsing(unittest.TestCase):
    def test_amount_and_unit(self):
        self.assertEqual(parse("200 g flour"), Ingredient("flour", Fraction(200), "g"))

    def test_mixed_number(self):
        self.assertEqual(parse("1 1/2 cups milk"), Ingredient("milk", Fraction(3, 2), "cup"))

    def test_no_unit(self):
        self.assertEqual(parse("3 eggs"), Ingredient("eggs", Fraction(3)))

    def test_no_amount(self):
        self.assertEqual(parse("salt"), Ingredient("salt"))


class Writing(unittest.TestCase):
    def test_text(self):
        self.assertEqual(str(parse("1 1/2 cups milk")), "1 1/2 cup milk")

    def test_scaled(self):
        self.assertEqual(str(parse("1 1/2 cups milk").scaled(2)), "3 cup milk")
