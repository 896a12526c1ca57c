def split_fields(line, separator=','):
    """Fields of a line; separators between double quotes do not count."""
    fields = []
    field = ''
    quoted = False
    for char in line:
        if char == '"':
            quoted = True
        elif char == separator and not quoted:
            fields.append(field)
            field = ''
        else:
            field += char
    fields.append(field)
    return fields
