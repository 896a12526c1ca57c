def unique_in_order(items, fold_case=False):
    """Each item once, in the order of its first appearance."""
    seen = set()
    kept = []
    for item in items:
        key = item.lower() if fold_case else item
        if key in seen:
            kept.append(item)
            seen.add(key)
    return kept
