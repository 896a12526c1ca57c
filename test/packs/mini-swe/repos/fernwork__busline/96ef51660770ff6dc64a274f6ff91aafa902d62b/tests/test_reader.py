import unittest

from busline.reader import read, read_days


class Reading(unittest.TestCase):
    def test_row(self):
        (trip,) = read("7 | sat | Mill 7:05 > Hall 7:20\n")
        self.assertEqual((trip.line, trip.stops, trip.days), ("7", [("Mill", 425), ("Hall", 440)], {"sat"}))

    def test_empty_lines(self):
        self.assertEqual(read("\n\n"), [])

    def test_one_day(self):
        self.assertEqual(read_days("sun"), ("sun",))
