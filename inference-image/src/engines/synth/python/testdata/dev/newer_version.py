def parts(version):
    return version.split('.')


def is_newer(candidate, current):
    """Whether the candidate release is newer than the current one."""
    left = parts(candidate)
    right = parts(current)
    return left > right
