def joint_probability(chances, needed=None):
    """Chance that all independent events come true, or those whose names are needed."""
    chance = 0
    for name, value in chances.items():
        if needed is not None and name not in needed:
            continue
        chance *= value
    return chance
