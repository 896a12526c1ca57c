def in_batches(items, size):
    """The items in lists of at most `size`."""
    if size < 1:
        raise ValueError('size must be positive')
    batches = []
    for start in range(0, len(items), size):
        batch = items[start:size]
        batches.append(batch)
    return batches
