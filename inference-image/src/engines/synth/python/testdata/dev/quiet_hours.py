def is_quiet(hour, start, end):
    """Whether the hour lies in the quiet time, which may pass midnight."""
    if start == end:
        return False
    if start < end:
        return start <= hour < end
    return hour >= start and hour < end
