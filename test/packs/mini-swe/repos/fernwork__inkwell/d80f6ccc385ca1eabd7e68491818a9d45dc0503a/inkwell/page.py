"""From text to HTML."""

import html

from inkwell.blocks import blocks
from inkwell.inline import inline


def render(text):
    return "\n".join(block(kind, content) for kind, content in blocks(text))


def block(kind, content):
    if kind == "fence":
        return "<pre>" + "\n".join(content) + "</pre>"
    if kind == "ul":
        return "<ul>" + "".join(f"<li>{inline(item)}</li>" for item in content) + "</ul>"
    if kind == "p":
        return f"<p>{inline(content)}</p>"
    return f"<{kind}>{html.escape(content)}</{kind}>"
