from datetime import date, timedelta


def work_days(first, last, holidays=()):
    """Number of days from Monday to Friday between two dates, both included."""
    count = 0
    day = first
    while day <= last:
        if day in holidays:
            day += timedelta(days=1)
            continue
        if day.weekday() <= 5:
            count += 1
        day += timedelta(days=1)
    return count
