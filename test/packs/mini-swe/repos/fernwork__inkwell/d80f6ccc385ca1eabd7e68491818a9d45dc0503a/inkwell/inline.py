"""What stands within a paragraph: *strong*, _emphasis_, `code`, [text](address)."""

import html
import re

CODE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
STRONG = re.compile(r"\*(.+)\*")
EMPHASIS = re.compile(r"_(.+?)_")


def inline(text):
    text = html.escape(text)
    text = CODE.sub(r"<code>\1</code>", text)
    text = LINK.sub(r'<a href="\2">\1</a>', text)
    text = STRONG.sub(r"<strong>\1</strong>", text)
    return EMPHASIS.sub(r"<em>\1</em>", text)
