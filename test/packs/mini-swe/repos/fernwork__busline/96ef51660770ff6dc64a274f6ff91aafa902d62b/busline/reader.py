"""Reads timetables as the town office sends them."""

from busline.timetable import DAYS, Trip


def read(text):
    """Trips of lines such as "7 | mon-fri | Mill 7:05 > Town Hall 7:20"."""
    trips = []
    for row in text.splitlines():
        if not row:
            continue
        line, days, stops = [part.strip() for part in row.split("|")]
        trips.append(Trip(line, [stop(part) for part in stops.split(">")], read_days(days)))
    return trips


def stop(part):
    name, time = part.strip().split(" ")
    return name, time


def read_days(text):
    """Days of "mon-fri", or of "sat"."""
    if "-" in text:
        first, last = text.split("-")
        return DAYS[DAYS.index(first) : DAYS.index(last)]
    return (text,)
