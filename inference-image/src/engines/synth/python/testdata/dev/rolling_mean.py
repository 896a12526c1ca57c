def rolling_mean(values, size):
    """Mean of every run of `size` neighbours."""
    if size <= 0 or size > len(values):
        return []
    means = []
    for start in range(len(values) - size):
        window = values[start:start + size]
        means.append(sum(window) / size)
    return means
