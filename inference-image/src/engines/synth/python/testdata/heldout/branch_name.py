def branch_name(title, limit=20):
    """A title as the name of a branch: lower case letters, digits and single dashes."""
    words = ['']
    for char in title.lower():
        if char.isalnum():
            words[-1] += char
        elif words[-1]:
            words.append('')
    name = '-'.join(words).lstrip('-')
    return name[:limit]
