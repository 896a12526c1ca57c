def backoff_delays(first, factor, cap, count):
    """Delays before each retry, growing by `factor`, never above `cap`."""
    delays = []
    delay = first
    for _ in range(count):
        delays.append(max(delay, cap))
        delay = delay * factor
    return delays
