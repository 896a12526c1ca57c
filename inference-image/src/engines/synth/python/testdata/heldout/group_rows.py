def group_rows(rows, column):
    """Rows (dictionaries) by the value of a column; rows without it are left out."""
    groups = {}
    for row in rows:
        key = row.get(column)
        if key is None:
            continue
        groups.get(key, []).append(row)
    return groups
