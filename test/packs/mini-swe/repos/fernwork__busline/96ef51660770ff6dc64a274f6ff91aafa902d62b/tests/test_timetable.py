import unittest

from busline.clock import minutes, text
from busline.timetable import Timetable, Trip


def table():
    return Timetable(
        [
            Trip("7", [("Mill", "7:05"), ("Hall", "7:20"), ("Lake", "7:40")]),
            Trip("8", [("Mill", "7:30"), ("Lake", "7:45")], ["sat"]),
        ]
    )


class Clock(unittest.TestCase):
    def test_minutes(self):
        self.assertEqual(minutes("7:05"), 425)

    def test_text(self):
        self.assertEqual(text(425), "07:05")


class Departures(unittest.TestCase):
    def test_next(self):
        self.assertEqual(table().departures("Mill", "mon", "7:00"), [(425, "7", "Lake")])

    def test_none(self):
        self.assertEqual(table().departures("Mill", "mon", "9:00"), [])

    def test_stops(self):
        self.assertEqual(table().stops(), ["Hall", "Lake", "Mill"])


class Direct(unittest.TestCase):
    def test_direct(self):
        self.assertEqual(table().direct("Mill", "Hall", "tue", "6:00").line, "7")

    def test_no_bus(self):
        self.assertIsNone(table().direct("Mill", "Moon", "tue", "6:00"))
