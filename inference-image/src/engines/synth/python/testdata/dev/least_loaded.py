def least_loaded(workers, limit):
    """Name of the worker that runs the fewest tasks below the limit, None when all are full."""
    best = None
    fewest = limit
    for worker, running in workers.items():
        if running < fewest:
            fewest = running
            best = worker
    return worker
