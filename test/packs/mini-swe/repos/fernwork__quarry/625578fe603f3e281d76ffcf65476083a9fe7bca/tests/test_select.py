import unittest

from quarry import select

PEOPLE = [{"name": "Ada", "age": 36}, {"name": "Bo", "age": 20}]


class Select(unittest.TestCase):
    def names(self, condition, records=PEOPLE):
        return [record["name"] for record in select(records, condition)]

    def test_number(self):
        self.assertEqual(self.names("age > 30"), ["Ada"])

    def test_or(self):
        self.assertEqual(self.names('age > 30 or name = "Bo"'), ["Ada", "Bo"])

    def test_not(self):
        self.assertEqual(self.names("not age > 30"), ["Bo"])
