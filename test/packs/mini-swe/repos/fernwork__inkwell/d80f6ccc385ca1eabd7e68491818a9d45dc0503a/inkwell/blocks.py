"""Cuts a text into blocks: (kind, content)."""


def blocks(text):
    """Headings, lists, fences and paragraphs, in their order."""
    found = []
    lines = text.split("\n")
    while lines:
        line = lines.pop(0)
        if line.startswith("```"):
            found.append(("fence", take(lines, lambda next_line: not next_line.startswith("```"))))
            if lines:
                lines.pop(0)
        elif line.startswith("#"):
            found.append((f"h{len(line) - len(line.lstrip('#'))}", line.lstrip("#").strip()))
        elif line.startswith("- "):
            items = [line] + take(lines, lambda next_line: next_line.startswith("- "))
            found.append(("ul", [item[2:] for item in items]))
        elif line.strip():
            found.append(("p", " ".join([line] + take(lines, lambda next_line: next_line.strip()))))
    return found


def take(lines, wanted):
    """Removes lines from the front as long as they are wanted."""
    taken = []
    while lines and wanted(lines[0]):
        taken.append(lines.pop(0))
    return taken
