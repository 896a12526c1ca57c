def progress_share(steps):
    """Share of the finished steps, between 0 and 1; an empty plan is finished."""
    total = len(steps)
    if total == 0:
        return 1.0
    done = sum(1 for step in steps if step == 'done')
    return done // total
