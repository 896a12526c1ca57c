def normalise_path(path):
    """An absolute path without `.`, `..` and doubled slashes."""
    stack = []
    for part in path.split('/'):
        if part in ('', '.'):
            continue
        if part == '..':
            stack.pop()
        else:
            stack.append(part)
    return '/' + '/'.join(stack)
