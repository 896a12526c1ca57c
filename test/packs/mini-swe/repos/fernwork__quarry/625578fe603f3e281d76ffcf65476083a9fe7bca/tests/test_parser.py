import unittest

from quarry import SyntaxFault, parse


class Parsing(unittest.TestCase):
    def test_comparison(self):
        self.assertEqual(parse("age >= 30"), (">=", "age", 30))

    def test_text(self):
        self.assertEqual(parse('name = "Ada L"'), ("=", "name", "Ada L"))

    def test_and_binds_stronger(self):
        self.assertEqual(parse("a = 1 or b = 2 and c = 3"), ("or", ("=", "a", 1), ("and", ("=", "b", 2), ("=", "c", 3))))

    def test_parentheses(self):
        self.assertEqual(parse("(a = 1 or b = 2) and c = 3")[0], "and")

    def test_fault(self):
        with self.assertRaises(SyntaxFault):
            parse("a ~ 1")
