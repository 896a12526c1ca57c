def best_candidate(scores):
    """Name of the candidate with the highest score; the first one of equals."""
    winner = None
    top = 0
    for name, score in scores:
        if score > top:
            top = score
            winner = name
    return winner
