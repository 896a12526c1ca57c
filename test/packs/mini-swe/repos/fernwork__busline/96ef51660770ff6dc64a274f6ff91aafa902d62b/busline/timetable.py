"""Lines, their trips, and what leaves next."""

from busline.clock import minutes

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class Trip:
    """One bus: stops with times, on some days of the week."""

    def __init__(self, line, stops, days=DAYS):
        self.line = line
        self.stops = [(stop, minutes(time)) for stop, time in stops]
        self.days = set(days)

    def time_at(self, stop):
        for name, time in self.stops:
            if name == stop:
                return time
        return None

    def serves(self, origin, target):
        """Whether it goes from one stop to the other."""
        return self.time_at(origin) is not None and self.time_at(target) is not None


class Timetable:
    def __init__(self, trips=()):
        self.trips = list(trips)

    def departures(self, stop, day, after, limit=5):
        """(time, line, last stop) of the next buses."""
        found = []
        for trip in self.trips:
            time = trip.time_at(stop)
            if time is not None and time > minutes(after) and day in trip.days:
                found.append((time, trip.line, trip.stops[-1][0]))
        return found[:limit]

    def direct(self, origin, target, day, after):
        """The trip that arrives first without a change, or None."""
        trips = [
            trip
            for trip in self.trips
            if day in trip.days and trip.serves(origin, target) and trip.time_at(origin) >= minutes(after)
        ]
        return min(trips, key=lambda trip: trip.time_at(origin), default=None)

    def stops(self):
        return sorted({stop for trip in self.trips for stop, _ in trip.stops})
