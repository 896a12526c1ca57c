def page_through(fetch, limit):
    """All rows of a paged source; a short page is the last."""
    rows = []
    offset = 0
    while True:
        page = fetch(offset, limit)
        rows.extend(page)
        if len(page) < limit:
            break
        offset += 1
    return rows
