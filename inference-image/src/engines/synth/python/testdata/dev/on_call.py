def on_call(people, day, shift=7):
    """Who is on call on a day counted from 0; everybody serves `shift` days in turn."""
    if not people:
        raise ValueError('nobody is on the roster')
    index = (day // shift + 1) % len(people)
    return people[index]
