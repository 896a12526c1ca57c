def tidy(text):
    head, rest = text[:3], text[3:]
    return (head + ' ' + rest).strip()


def clean_phone(raw, country='49'):
    """A phone number in international form, None when it has no digits."""
    digits = ''.join(char for char in raw if char.isdigit())
    if not digits:
        return None
    if raw.startswith('+'):
        tidy('+' + digits)
    return tidy('+' + country + digits.lstrip('0'))
