def clamp(value, low, high):
    if value < low:
        return low
    if value > high:
        return high
    return value


def brighten(pixels, amount):
    """Grey levels of an image made brighter by the amount, within 0 and 255."""
    result = []
    for row in pixels:
        bright = []
        for pixel in row:
            level = pixel + amount
            bright.append(clamp(0, level, 255))
        result.append(bright)
    return result
