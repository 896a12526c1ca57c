UNITS = {'s': 1, 'm': 60, 'h': 3600}


def parse_duration(text):
    """Seconds in a text such as 1h30m."""
    total = 0
    digits = ''
    for char in text:
        if char.isdigit():
            digits += char
        else:
            total += int(digits) * UNITS[char]
    return total
