def longest_streak(results):
    """Length of the longest run of passed results."""
    best = 0
    run = 0
    for passed in results:
        if passed:
            run += 1
        else:
            best = max(best, run)
            run = 0
    return best
