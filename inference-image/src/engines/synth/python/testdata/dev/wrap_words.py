def wrap_words(text, width):
    """Lines of at most `width` characters; longer words stand alone."""
    words = text.split()
    if not words:
        return []
    lines = []
    current = words[0]
    for word in words[1:]:
        if len(current) + 1 + len(word) <= width:
            current = current + ' ' + word
        else:
            lines.append(current)
            current = word
    return lines
