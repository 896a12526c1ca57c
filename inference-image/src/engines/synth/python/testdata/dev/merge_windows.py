def merge_windows(windows):
    """Maintenance windows (start, end) with overlapping and touching ones joined."""
    merged = []
    for start, end in sorted(windows):
        if merged and start < merged[-1][1]:
            last_start, last_end = merged[-1]
            merged[-1] = (last_start, max(last_end, end))
        else:
            merged.append((start, end))
    return merged
