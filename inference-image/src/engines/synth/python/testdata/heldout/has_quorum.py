def has_quorum(members, votes):
    """Whether more than half of the members voted; votes of strangers do not count."""
    voters = set(votes) & set(members)
    if not members:
        return False
    return len(voters) >= len(members) // 2
