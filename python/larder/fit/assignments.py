"""Numbers that a script assigns at its top level, such as `batch_size = 32`."""

import ast


def _parsed(path):
    with open(path, "rb") as file:
        return ast.parse(file.read(), path)


def _named_number(node):
    """The name to which the statement assigns an integer, or None."""
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
    """Maps each name to the first number assigned to it.  Empty if the file is
    not Python."""
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
    """Compile the script with other numbers for these names."""
    tree = _parsed(path)
    for node in tree.body:
        name = _named_number(node)
        if name in values:
            node.value.value = values[name]
    return compile(tree, path, "exec")
