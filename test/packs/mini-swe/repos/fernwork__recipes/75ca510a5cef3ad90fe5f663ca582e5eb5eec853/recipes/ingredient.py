"""One line of a recipe."""

from dataclasses import dataclass, replace
from fractions import Fraction

from recipes.units import canonical


@dataclass(frozen=True)
class Ingredient:
    name: str
    amount: Fraction = None
    unit: str = None

    def scaled(self, factor):
        """The same for more or fewer people."""
        return replace(self, amount=self.amount * factor)

    def __str__(self):
        parts = [show(self.amount), self.unit, self.name]
        return " ".join(part for part in parts if part)


def show(amount):
    """An amount as cooks write it: 1 1/2."""
    if amount is None:
        return ""
    whole, rest = divmod(amount, 1)
    parts = [str(whole)] if whole else []
    if rest:
        parts.append(f"{rest.numerator}/{rest.denominator}")
    return " ".join(parts)


def parse(line):
    """Reads "1 1/2 cups flour"."""
    words = line.split()
    amount = None
    while words and is_number(words[0]):
        amount = (amount or 0) + Fraction(words.pop(0))
    unit = canonical(words[0]) if words and amount is not None else None
    if unit:
        words.pop(0)
    return Ingredient(" ".join(words), amount, unit)


def is_number(word):
    try:
        Fraction(word)
    except ValueError:
        return False
    return True
