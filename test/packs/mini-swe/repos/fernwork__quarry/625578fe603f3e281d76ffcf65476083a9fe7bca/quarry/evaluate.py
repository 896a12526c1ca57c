"""Applies a condition to records."""

import operator

from quarry.parser import parse

COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def select(records, condition):
    """Records that fulfil a condition."""
    tree = parse(condition)
    return [record for record in records if holds(tree, record)]


def holds(tree, record):
    head, *rest = tree
    if head == "and":
        return holds(rest[0], record) and holds(rest[1], record)
    if head == "or":
        return holds(rest[0], record) or holds(rest[1], record)
    if head == "not":
        return not holds(rest[0], record)
    field, wanted = rest
    return COMPARE[head](record[field], wanted)
