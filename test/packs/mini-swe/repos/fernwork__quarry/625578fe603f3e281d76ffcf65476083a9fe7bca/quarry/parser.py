"""Makes a tree of a condition: nested tuples, first the operator."""

from quarry.tokens import SyntaxFault, tokens

COMPARISONS = {"=", "!=", "<", "<=", ">", ">="}


def parse(source):
    stream = tokens(source)
    tree = disjunction(stream)
    return tree


def disjunction(stream):
    tree = conjunction(stream)
    while stream and stream[0] == ("keyword", "or"):
        stream.pop(0)
        tree = ("or", tree, conjunction(stream))
    return tree


def conjunction(stream):
    tree = negation(stream)
    while stream and stream[0] == ("keyword", "and"):
        stream.pop(0)
        tree = ("and", tree, negation(stream))
    return tree


def negation(stream):
    if stream and stream[0] == ("keyword", "not"):
        stream.pop(0)
        return ("not", disjunction(stream))
    return primary(stream)


def primary(stream):
    if stream and stream[0] == ("op", "("):
        stream.pop(0)
        tree = disjunction(stream)
        stream.pop(0)
        return tree
    return comparison(stream)


def comparison(stream):
    field = expect(stream, "word")
    operator = expect(stream, "op")
    if operator not in COMPARISONS:
        raise SyntaxFault(f"{operator} compares nothing")
    return (operator, field, value(stream))


def value(stream):
    kind, text = stream.pop(0)
    if kind == "number":
        return int(text)
    return text.strip('"')


def expect(stream, kind):
    if not stream or stream[0][0] != kind:
        raise SyntaxFault(f"expected a {kind}")
    return stream.pop(0)[1]
