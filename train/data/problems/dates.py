def is_leap(year):
    if year % 400 == 0:
        return True
    if year % 100 == 0:
        return False
    return year % 4 == 0
#> 2000 ;; 1900 ;; 2024 ;; 2023 ;; 2100 ;; 4 ;; 1600

def days_in_month(year, month):
    if month == 2:
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return 29 if leap else 28
    if month in (4, 6, 9, 11):
        return 30
    return 31
#> 2024, 2 ;; 2023, 2 ;; 2023, 4 ;; 2023, 12 ;; 1900, 2 ;; 2000, 2 ;; 2021, 9 ;; 2021, 7

def day_of_year(year, month, day):
    lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0):
        lengths[1] = 29
    return sum(lengths[:month - 1]) + day
#> 2023, 1, 1 ;; 2023, 3, 1 ;; 2024, 3, 1 ;; 2024, 12, 31 ;; 2023, 12, 31 ;; 2024, 2, 29 ;; 1900, 3, 2

def format_duration(seconds):
    parts = []
    for name, size in (('d', 86400), ('h', 3600), ('m', 60), ('s', 1)):
        count = seconds // size
        if count > 0:
            parts.append('{}{}'.format(count, name))
            seconds -= count * size
    return ' '.join(parts) or '0s'
#> 59 ;; 60 ;; 0 ;; 3661 ;; 90061 ;; 86400 ;; 7322
#~ seconds -= count * size ==> seconds -= size

def clock_add(clock, minutes):
    hour, minute = [int(part) for part in clock.split(':')]
    total = (hour * 60 + minute + minutes) % (24 * 60)
    return '{:02d}:{:02d}'.format(total // 60, total % 60)
#> '10:30', 45 ;; '23:50', 20 ;; '00:10', -20 ;; '12:00', 0 ;; '05:05', 1440 ;; '9:59', 1

def overlap_minutes(first, second):
    start = max(first[0], second[0])
    end = min(first[1], second[1])
    return max(0, end - start)
#> (0, 10), (5, 15) ;; (0, 5), (5, 9) ;; (1, 9), (2, 4) ;; (10, 20), (0, 5) ;; (3, 3), (1, 9) ;; (2, 8), (1, 7)

def merge_intervals(intervals):
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
#> [(1, 3), (2, 5)] ;; [] ;; [(1, 2), (3, 4)] ;; [(1, 9), (2, 3)] ;; [(5, 6), (1, 2), (2, 5)] ;; [(0, 0)] ;; [(1, 4), (4, 6)]

def weekday_name(number, start_sunday=False):
    names = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
    if start_sunday:
        number -= 1
    return names[number % 7]
#> 0 ;; 6 ;; 7 ;; 0, True ;; 1, True ;; -1 ;; 3, True ;; 12

def add_months(year, month, count):
    total = year * 12 + (month - 1) + count
    return total // 12, total % 12 + 1
#> 2023, 1, 1 ;; 2023, 12, 1 ;; 2023, 1, -1 ;; 2020, 6, 18 ;; 2020, 5, 0 ;; 2021, 11, 2 ;; 1999, 3, -15

def valid_date(text):
    parts = text.split('-')
    if len(parts) != 3 or not all(part.isdigit() for part in parts):
        return False
    year, month, day = [int(part) for part in parts]
    if not 1 <= month <= 12:
        return False
    lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    last = lengths[month - 1]
    if month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0):
        last += 1
    return 1 <= day <= last
#> '2024-02-29' ;; '2023-02-29' ;; '2023-13-01' ;; '2023-12-31' ;; '2023-1' ;; 'a-b-c' ;; '2023-04-31' ;; '2023-06-00' ;; '1900-02-29' ;; '2020-01-01'

def business_days(start_weekday, days):
    count = 0
    for offset in range(days):
        if (start_weekday + offset) % 7 < 5:
            count += 1
    return count
#> 0, 7 ;; 4, 3 ;; 5, 2 ;; 0, 0 ;; 6, 8 ;; 2, 14 ;; 3, 4

def age_on(birth, today):
    years = today[0] - birth[0]
    if (today[1], today[2]) < (birth[1], birth[2]):
        years -= 1
    return max(0, years)
#> (2000, 5, 10), (2020, 5, 10) ;; (2000, 5, 10), (2020, 5, 9) ;; (2000, 1, 1), (1999, 1, 1) ;; (1990, 12, 31), (2021, 1, 1) ;; (1985, 6, 15), (2015, 7, 1) ;; (2010, 3, 3), (2010, 4, 4)

def free_slots(busy, start, end, length):
    slots = []
    at = start
    for begin, finish in sorted(busy):
        if begin - at >= length:
            slots.append((at, begin))
        at = max(at, finish)
    if end - at >= length:
        slots.append((at, end))
    return slots
#> [(2, 4)], 0, 10, 2 ;; [], 0, 5, 1 ;; [(0, 5)], 0, 5, 1 ;; [(3, 6), (1, 4)], 0, 9, 1 ;; [(2, 8), (3, 4)], 0, 10, 2 ;; [(1, 2), (4, 5)], 0, 6, 2

def retry_times(first, factor, limit, count):
    times = []
    delay = first
    at = 0
    for _ in range(count):
        at += delay
        times.append(at)
        delay = min(limit, delay * factor)
    return times
#> 1, 2, 10, 5 ;; 5, 3, 20, 3 ;; 1, 1, 1, 2 ;; 2, 2, 3, 4 ;; 4, 2, 100, 0 ;; 3, 4, 30, 4

def cron_field(text, low, high):
    values = set()
    for part in text.split(','):
        body, _, step = part.partition('/')
        if body == '*':
            first, last = low, high
        elif '-' in body:
            a, _, b = body.partition('-')
            first, last = int(a), int(b)
        else:
            first = last = int(body)
        values.update(range(first, last + 1, int(step or 1)))
    return sorted(value for value in values if low <= value <= high)
#> '*', 0, 5 ;; '1,3', 0, 9 ;; '2-4', 0, 9 ;; '*/2', 0, 6 ;; '1-9/3', 0, 9 ;; '7', 0, 6 ;; '0,5-6', 0, 6

def expired(entries, now, ttl):
    out = []
    for name, created, refreshed in entries:
        last = created if refreshed is None else max(created, refreshed)
        if now - last > ttl:
            out.append(name)
    return out
#> [('a', 0, None)], 11, 10 ;; [('a', 0, None)], 10, 10 ;; [('a', 0, 5), ('b', 0, 1)], 12, 10 ;; [], 5, 1 ;; [('k', 9, 3)], 12, 5 ;; [('x', 1, 2), ('y', 7, None)], 20, 15

def iso_week_monday(day_number, weekday):
    return day_number - weekday if weekday <= 6 else None
#> 10, 0 ;; 10, 6 ;; 10, 7 ;; 3, 5 ;; 0, 1 ;; 100, 3

def quarter(month, fiscal_start=1):
    if not 1 <= month <= 12:
        raise ValueError('month')
    return (month - fiscal_start) % 12 // 3 + 1
#> 1 ;; 12 ;; 4 ;; 3, 4 ;; 4, 4 ;; 13 ;; 0 ;; 9, 10 ;; 7

def humanize_delta(seconds):
    if seconds < 0:
        return 'in the future'
    if seconds < 60:
        return 'just now'
    for limit, size, name in ((3600, 60, 'minute'), (86400, 3600, 'hour'), (10 ** 9, 86400, 'day')):
        if seconds < limit:
            count = seconds // size
            return '{} {}{} ago'.format(count, name, '' if count == 1 else 's')
    return 'long ago'
#> 5 ;; 60 ;; 119 ;; 3600 ;; 7300 ;; 86400 ;; -1 ;; 200000 ;; 59 ;; 10 ** 10
#~ count == 1 ==> count <= 1 and limit > 3600
