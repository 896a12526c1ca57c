def is_healthy(nodes, tolerated=()):
    """Whether every node that is not tolerated reports ready."""
    watched = [node for node in nodes if node['name'] not in tolerated]
    if not watched:
        return True
    return any(node['ready'] for node in watched)
