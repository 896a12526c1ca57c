class RateWindow:
    """Allows `limit` calls within `seconds`."""

    def __init__(self, limit, seconds):
        self.limit = limit
        self.seconds = seconds
        self.stamps = []

    def allow(self, now):
        while self.stamps and now - self.stamps[0] < self.seconds:
            self.stamps.pop(0)
        if len(self.stamps) >= self.limit:
            return False
        self.stamps.append(now)
        return True
