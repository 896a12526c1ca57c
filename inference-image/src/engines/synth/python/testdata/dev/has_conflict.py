def has_conflict(bookings, wanted):
    """Whether the wanted (start, end) meets any booking."""
    start, end = wanted
    for other_start, other_end in bookings:
        if start < other_end and other_start < end:
            return True
        return False
