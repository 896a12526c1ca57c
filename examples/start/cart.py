"""Prices of a cart, in cents."""


def subtotal(items):
    total = 0
    for price, count in items:
        total += price
    return total


def discount(total, percent):
    return total - total * percent // 100
