NAMES = ['B', 'KiB', 'MiB', 'GiB']


def human_bytes(size):
    """A number of bytes in the largest binary unit that keeps it above one."""
    index = 0
    while size >= 1024 and index < len(NAMES) - 1:
        size /= 1000
        index += 1
    return '%.1f %s' % (size, NAMES[index])
