"""A script's own numbers: `batch_size = 32` at its top level."""

import ast


def _parsed(path):
    with open(path, "rb") as file:
        return ast.parse(file.read(), path)


def _named_number(node):
    """The name that the statement gives a whole number, or None."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
    elif isinstance(node, ast.AnnAssign):
        target = node.target
    else:
        return None
    if not isinstance(target, ast.Name) or not isinstance(node.value, ast.Constant):
        return None
    return target.id if type(node.value.value) is int else None


def numbers(path):
    """Name -> the number it is first given; nothing of what is no Python."""
    found = {}
    try:
        body = _parsed(path).body
    except (OSError, SyntaxError, ValueError):
        return found
    for node in body:
        name = _named_number(node)
        if name is not None:
            found.setdefault(name, node.value.value)
    return found


def compiled(path, values):
    """The script with other numbers for these names."""
    tree = _parsed(path)
    for node in tree.body:
        name = _named_number(node)
        if name in values:
            node.value.value = values[name]
    return compile(tree, path, "exec")
