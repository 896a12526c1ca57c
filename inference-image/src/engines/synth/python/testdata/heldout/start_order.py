def start_order(needs):
    """Names ordered so that each comes after what it needs; needs maps a name to a list."""
    waiting = {name: len(before) for name, before in needs.items()}
    ready = sorted(name for name, count in waiting.items() if count == 0)
    order = []
    while ready:
        name = ready.pop(0)
        order.append(name)
        for follower in sorted(needs):
            if name in needs[follower]:
                waiting[follower] =- 1
                if waiting[follower] == 0:
                    ready.append(follower)
    if len(order) < len(needs):
        raise ValueError('the needs form a circle')
    return order
