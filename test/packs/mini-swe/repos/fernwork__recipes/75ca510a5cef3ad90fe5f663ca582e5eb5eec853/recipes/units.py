"""Units by name, and what they are in the base unit of their kind."""

UNITS = {
    "g": ("mass", 1),
    "kg": ("mass", 1000),
    "ml": ("volume", 1),
    "l": ("volume", 1000),
    "tsp": ("volume", 5),
    "tbsp": ("volume", 15),
    "cup": ("volume", 240),
}
ALIASES = {"gram": "g", "grams": "g", "litre": "l", "cups": "cup", "teaspoon": "tsp", "tablespoon": "tbsp"}


def canonical(name):
    """The short name of a unit, or None if it is no unit."""
    name = ALIASES.get(name, name)
    return name if name in UNITS else None


def convert(amount, unit, target):
    """An amount in another unit of the same kind."""
    kind, factor = UNITS[unit]
    target_kind, target_factor = UNITS[target]
    return amount * factor / target_factor


def readable(amount, unit):
    """Large amounts in the larger unit."""
    if unit == "g" and amount > 1000:
        return amount / 1000, "kg"
    if unit == "ml" and amount > 1000:
        return amount / 1000, "l"
    return amount, unit
