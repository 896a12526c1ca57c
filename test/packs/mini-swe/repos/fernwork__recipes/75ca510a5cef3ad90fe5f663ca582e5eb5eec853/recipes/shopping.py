"""Shopping lists of several recipes."""

from recipes.ingredient import Ingredient
from recipes.units import UNITS, convert


def shopping_list(recipes):
    """One ingredient for each name, in the order in which they are first needed."""
    needed = {}
    for recipe in recipes:
        for item in recipe:
            key = item.name
            if key not in needed:
                needed[key] = item
            else:
                needed[key] = add(needed[key], item)
    return list(needed.values())


def add(one, other):
    amount = convert(other.amount, other.unit, one.unit) if one.unit else other.amount
    return Ingredient(one.name, one.amount + amount, one.unit)
