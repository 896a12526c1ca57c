"""Ingredients, recipes and shopping lists."""

from recipes.ingredient import Ingredient, parse
from recipes.shopping import shopping_list

__all__ = ["Ingredient", "parse", "shopping_list"]
