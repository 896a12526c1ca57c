"""Cuts a condition into tokens: (kind, text)."""

import re

PATTERN = re.compile(r"""\s*(?:(?P<number>\d+)|(?P<text>"[^"]*")|(?P<op><=|>=|!=|=|<|>|\(|\))|(?P<word>\w+))""")
KEYWORDS = {"and", "or", "not"}


class SyntaxFault(ValueError):
    """A condition that cannot be read."""


def tokens(source):
    found = []
    at = 0
    while at < len(source):
        match = PATTERN.match(source, at)
        if not match:
            raise SyntaxFault(f"unexpected {source[at]!r} at {at}")
        kind = match.lastgroup
        text = match[kind]
        found.append(("keyword", text) if text in KEYWORDS else (kind, text))
        at = match.end()
    return found
