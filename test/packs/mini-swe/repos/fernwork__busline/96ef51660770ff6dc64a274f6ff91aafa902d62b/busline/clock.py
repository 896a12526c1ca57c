"""Times of a day as minutes after midnight."""


def minutes(text):
    """Minutes of "7:05"; hours from 24 on belong to the night after."""
    hours, rest = text.split(":")
    return int(hours) * 60 + int(rest)


def text(value):
    """ "07:05" of 425."""
    return f"{value // 60:02}:{value % 60:02}"
