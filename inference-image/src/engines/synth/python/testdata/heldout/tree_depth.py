def tree_depth(node):
    """Levels of a tree of nested lists; a leaf has none."""
    if not isinstance(node, list):
        return 0
    deepest = max(tree_depth(child) for child in node)
    return deepest + 1
