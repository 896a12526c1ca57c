import unittest

from recipes import parse, shopping_list
from recipes.units import convert, readable


class Shopping(unittest.TestCase):
    def listed(self, *recipes):
        return [str(item) for item in shopping_list([[parse(line) for line in recipe] for recipe in recipes])]

    def test_sum(self):
        self.assertEqual(self.listed(["200 g flour", "2 eggs"], ["100 g flour"]), ["300 g flour", "2 eggs"])

    def test_units_are_converted(self):
        self.assertEqual(self.listed(["200 g rice"], ["1 kg rice"]), ["1200 g rice"])


class Units(unittest.TestCase):
    def test_convert(self):
        self.assertEqual(convert(3, "tsp", "tbsp"), 1)

    def test_readable(self):
        self.assertEqual(readable(1500, "g"), (1.5, "kg"))
        self.assertEqual(readable(200, "ml"), (200, "ml"))
