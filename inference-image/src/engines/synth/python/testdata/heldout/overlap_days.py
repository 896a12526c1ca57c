def overlap_days(one, other):
    """Days that two stays (first day, last day) share, both days included."""
    first = max(one[0], other[0])
    last = min(one[1], other[1])
    return max(0, last - first)
