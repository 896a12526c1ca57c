"""Counts what a Python file asks of modules that they do not have: names, arity, keywords; its complexity, and what a linter would say.

Reads one JSON object from standard input, {"root", "sources": [[path, text], …]}, and answers one line: for each source [mismatches,
broken, complexity, findings], null in the place of what could not be told. Files of the workspace are parsed and never run; of the standard library only
modules without effects are imported. Runs on Python 3.8 and later.
"""

import ast
import builtins
import importlib
import importlib.util
import inspect
import json
import os
import sys

MAX_BYTES = 1 << 20
EFFECTS = {'antigravity', 'this', 'idlelib', 'turtle', 'turtledemo', 'tkinter', 'test', 'lib2to3', '__main__', 'site'}
STDLIB = getattr(sys, 'stdlib_module_names', frozenset(sys.builtin_module_names))
LITERALS = {
    ast.List: list, ast.ListComp: list, ast.Dict: dict, ast.DictComp: dict, ast.Set: set, ast.SetComp: set,
    ast.JoinedStr: str, ast.Tuple: tuple,
}
MADE = {'list': list, 'dict': dict, 'set': set, 'str': str, 'tuple': tuple, 'sorted': list, 'int': int, 'float': float}
BINDING = (ast.ExceptHandler,) + tuple(getattr(ast, name) for name in ('MatchAs', 'MatchStar') if hasattr(ast, name))
GIVEN = {'__file__', '__name__', '__class__', '__path__', '__builtins__', '__dict__', '__spec__', '__doc__', '__module__', '__qualname__'}
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Shape:
    """Parameters of a function: how many may stand in order, which have to be there, which names there are."""

    def __init__(self, names, required, keywords, rest, extra):
        self.names, self.required, self.keywords, self.rest, self.extra = names, required, keywords, rest, extra

    def refuses(self, call, skipped=0):
        """Whether a call cannot be right, whatever its values are."""
        if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
            return False
        names = self.names[skipped:]
        given = [one.arg for one in call.keywords]
        if len(call.args) > len(names) and not self.rest:
            return True
        if not self.extra and any(one not in self.names and one not in self.keywords for one in given):
            return True
        filled = set(names[:len(call.args)])
        if filled & set(given):
            return True
        return any(one not in filled and one not in given for one in self.required if one in names or one in self.keywords)


def shape_of(node):
    """Of a definition in a tree."""
    one = node.args
    names = [argument.arg for argument in getattr(one, 'posonlyargs', []) + one.args]
    required = names[:len(names) - len(one.defaults)]
    keywords = [argument.arg for argument in one.kwonlyargs]
    required += [name for name, default in zip(keywords, one.kw_defaults) if default is None]
    return Shape(names, required, keywords, one.vararg is not None, one.kwarg is not None)


def shape_of_object(found):
    """Of a function of the standard library; None where it does not tell."""
    if not callable(found) or inspect.isclass(found):
        return None
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = inspect.Parameter
    ordered = [one for one in parameters if one.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    keywords = [one for one in parameters if one.kind is kinds.KEYWORD_ONLY]
    required = [one.name for one in ordered + keywords if one.default is kinds.empty]
    rest = any(one.kind is kinds.VAR_POSITIONAL for one in parameters)
    extra = any(one.kind is kinds.VAR_KEYWORD for one in parameters)
    return Shape([one.name for one in ordered], required, [one.name for one in keywords], rest, extra)


def bound_names(nodes):
    """Names that statements of one scope bind, and whether more may come that the text does not tell."""
    names, shapes, unknown = set(), {}, False
    for node in nodes:
        if isinstance(node, SCOPES[:2] + (ast.ClassDef,)):
            plain = isinstance(node, SCOPES[:2]) and not node.decorator_list and node.name not in names
            shapes[node.name] = shape_of(node) if plain else None
            names.add(node.name)
            unknown = unknown or node.name == '__getattr__'
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for one in node.names:
                unknown = unknown or one.name == '*'
                names.add((one.asname or one.name).split('.')[0])
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            shapes[node.id] = None
            names.add(node.id)
        elif isinstance(node, BINDING) and getattr(node, 'name', None):
            names.add(node.name)
        elif type(node).__name__ == 'MatchMapping' and node.rest:
            names.add(node.rest)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ('globals', 'exec', 'setattr', 'vars'):
            unknown = True
    return names, shapes, unknown


def scope_of(tree):
    """Nodes of a module or function, less what lies in functions and classes within."""
    found, open_nodes = [], list(ast.iter_child_nodes(tree))
    while open_nodes:
        node = open_nodes.pop()
        found.append(node)
        if not isinstance(node, SCOPES + (ast.ClassDef,)):
            open_nodes.extend(ast.iter_child_nodes(node))
    return found


class Modules:
    """What modules have, by name: those of the workspace by their text, those of the standard library by looking."""

    def __init__(self, root, texts):
        self.root, self.texts, self.known = root, texts, {}

    def text(self, path):
        if path in self.texts:
            return self.texts[path]
        try:
            with open(os.path.join(self.root, path), 'rb') as file:
                return file.read(MAX_BYTES).decode('utf-8')
        except (OSError, ValueError):
            return None

    def source(self, name, near):
        """Text of a module of the workspace, as seen from a folder of it; None: there is none."""
        tail = name.replace('.', '/')
        for folder in dict.fromkeys((near, '', 'src', 'lib')):
            for path in (tail + '.py', tail + '/__init__.py'):
                text = self.text(os.path.normpath(os.path.join(folder, path)))
                if text is not None:
                    return text
        return None

    def get(self, name, near):
        """(names, shapes) of a module, 'absent', or None where it cannot be told."""
        key = (name, near)
        if key not in self.known:
            self.known[key] = self.look(name, near)
        return self.known[key]

    def look(self, name, near):
        text = self.source(name, near)
        if text is not None:
            try:
                names, shapes, unknown = bound_names(scope_of(ast.parse(text)))
            except (SyntaxError, ValueError, RecursionError):
                return None
            return None if unknown else (names | {'__name__', '__doc__', '__file__'}, shapes)
        top = name.split('.')[0]
        if os.path.isdir(os.path.join(self.root, name.replace('.', '/'))) or os.path.isdir(os.path.join(self.root, near, top)):
            return None
        if top in EFFECTS or any(part.startswith('_') for part in name.split('.')):
            return None
        if top not in STDLIB:
            return None if installed(top) else 'absent'
        try:
            module = importlib.import_module(name)
        except ImportError:
            return 'absent' if '.' in name else None
        except Exception:
            return None
        return None if hasattr(module, '__getattr__') else (set(dir(module)), module)


def installed(top):
    try:
        return importlib.util.find_spec(top) is not None
    except (ImportError, ValueError, AttributeError):
        return True


def member(found, name):
    """Shape of a name of a module; None where nothing is told."""
    names, holder = found
    return holder.get(name) if isinstance(holder, dict) else shape_of_object(getattr(holder, name, None))


class Count(ast.NodeVisitor):
    """Goes through one file and counts."""

    def __init__(self, tree, path, modules):
        self.modules, self.near, self.found = modules, os.path.dirname(path), 0
        self.aliases, self.shapes, self.types, self.classes = {}, {}, [{}], []
        names, shapes, self.open = bound_names(scope_of(tree))
        everywhere = set().union(*(bound_names(scope_of(node))[0] for node in ast.walk(tree) if isinstance(node, SCOPES + (ast.ClassDef,))))
        for node in ast.walk(tree):
            if isinstance(node, ast.arg):
                everywhere.add(node.arg)
            self.open = self.open or (isinstance(node, ast.ImportFrom) and any(one.name == '*' for one in node.names))
        self.bound, self.shadowed = names | everywhere, everywhere | rebound(tree)
        self.bases = {base.id for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for base in node.bases if isinstance(base, ast.Name)}
        self.shapes = {name: shape for name, shape in shapes.items() if name not in everywhere}

    def visit_Import(self, node):
        for one in node.names:
            found = self.modules.get(one.name, self.near)
            if found == 'absent':
                self.found += 1
            elif found and (one.asname or '.' not in one.name) and (one.asname or one.name) not in self.shadowed:
                self.aliases[one.asname or one.name] = found

    def visit_ImportFrom(self, node):
        if node.level:
            folder = self.near
            for _ in range(node.level - 1):
                folder = os.path.dirname(folder)
            found = self.modules.get(node.module, folder) if node.module else None
        else:
            found = self.modules.get(node.module, self.near)
        if found == 'absent':
            self.found += 0 if node.level else 1
            return
        for one in node.names if found else ():
            if one.name == '*':
                continue
            if one.name not in found[0]:
                self.found += 0 if self.modules.get('%s.%s' % (node.module, one.name), self.near) not in ('absent',) else 1
            elif (one.asname or one.name) not in self.shadowed:
                self.shapes[one.asname or one.name] = member(found, one.name)

    def visit_FunctionDef(self, node):
        self.types.append(types_of(node))
        self.generic_visit(node)
        self.types.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node):
        self.classes.append(None if node.name in self.bases else members_of(node))
        self.generic_visit(node)
        self.classes.pop()

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and not self.open and node.id not in self.bound and not hasattr(builtins, node.id):
            self.found += 0 if node.id in GIVEN else 1

    def visit_Attribute(self, node):
        self.generic_visit(node)
        kind = self.type_of(node.value)
        if kind is not None and isinstance(node.ctx, ast.Load) and not hasattr(kind, node.attr):
            self.found += 1
        elif isinstance(node.value, ast.Name) and isinstance(node.ctx, ast.Load):
            found = self.aliases.get(node.value.id)
            own = self.classes[-1] if self.classes and node.value.id == 'self' else None
            if found is not None and node.attr not in found[0] and node.attr not in GIVEN:
                self.found += 1
            elif own is not None and node.attr not in own[0] and node.attr not in GIVEN and not hasattr(object, node.attr):
                self.found += 1

    def visit_Call(self, node):
        self.generic_visit(node)
        shape, skipped = self.callee(node.func)
        if shape is not None and shape.refuses(node, skipped):
            self.found += 1

    def callee(self, function):
        """Shape of what is called, and how many of its parameters are filled already."""
        if isinstance(function, ast.Name):
            if function.id in self.bound:
                return self.shapes.get(function.id), 0
            return shape_of_object(getattr(builtins, function.id, None)), 0
        if not isinstance(function, ast.Attribute):
            return None, 0
        kind = self.type_of(function.value)
        if kind is not None:
            return shape_of_object(getattr(kind, function.attr, None)), 1
        if isinstance(function.value, ast.Name):
            found = self.aliases.get(function.value.id)
            if found is not None and function.attr in found[0]:
                return member(found, function.attr), 0
            if self.classes and self.classes[-1] and function.value.id == 'self':
                return self.classes[-1][1].get(function.attr), 1
        return None, 0

    def type_of(self, node):
        """Class of a value, where its text alone tells it."""
        kind = literal(node)
        return self.types[-1].get(node.id) if kind is None and isinstance(node, ast.Name) else kind


def literal(node):
    if isinstance(node, ast.Constant):
        return type(node.value) if isinstance(node.value, (str, bytes, int, float)) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return MADE.get(node.func.id)
    return LITERALS.get(type(node))


def rebound(tree):
    """Names that are assigned anywhere: what was imported under them may be something else by then."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}


def types_of(function):
    """Classes of the names of a function that are bound once, to a value whose text tells its class."""
    kinds, counts = {}, {node.arg: 2 for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    for node in scope_of(function):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            counts[node.id] = counts.get(node.id, 0) + 1
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            kinds[node.targets[0].id] = literal(node.value)
    return {name: kind for name, kind in kinds.items() if kind is not None and counts.get(name) == 1}


def members_of(node):
    """(names, shapes) that `self` has in a class without bases; None where more may come."""
    if node.bases or node.keywords or node.decorator_list:
        return None
    names, shapes, unknown = bound_names(scope_of(node))
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == 'self' and not isinstance(one.ctx, ast.Load):
            names.add(one.attr)
            shapes[one.attr] = None
        unknown = unknown or (isinstance(one, ast.Name) and one.id in ('setattr', 'vars')) or (isinstance(one, ast.Attribute) and one.attr == '__dict__')
    return None if unknown or '__getattr__' in names or '__slots__' in names else (names, shapes)


DECISIONS = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.comprehension)
JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
IDLE = (ast.Compare, ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.Name, ast.Attribute, ast.Subscript, ast.List, ast.Dict, ast.Set, ast.Tuple)
NOWHERE = {'locals', 'vars', 'eval', 'exec', 'globals', '__all__'}


def complexity(tree):
    """Cyclomatic complexity of a whole file: 1, and 1 for each decision."""
    booleans = sum(len(node.values) - 1 for node in ast.walk(tree) if isinstance(node, ast.BoolOp))
    return 1 + booleans + sum(isinstance(node, DECISIONS) for node in ast.walk(tree))


def findings(tree):
    """What the usual linters hold against a file, of what is hardly ever meant."""
    return sum(wrong(node) for node in ast.walk(tree)) + unused_imports(tree) + sum(
        unread(node) for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    )


def wrong(node):
    """How much is wrong with one node, without those below it."""
    count = sum(
        isinstance(one, JUMPS)
        for block in (getattr(node, 'body', None), getattr(node, 'orelse', None), getattr(node, 'finalbody', None))
        if isinstance(block, list)
        for one in block[:-1]
    )
    if isinstance(node, ast.Compare):
        sides = [node.left] + node.comparators
        for operator, left, right in zip(node.ops, sides, sides[1:]):
            identity = isinstance(operator, (ast.Is, ast.IsNot))
            equality = isinstance(operator, (ast.Eq, ast.NotEq))
            count += identity and any(isinstance(one, ast.Constant) and isinstance(one.value, (str, bytes, int, float)) and not isinstance(one.value, bool) for one in (left, right))
            count += equality and isinstance(right, ast.Constant) and right.value is None
            count += isinstance(left, (ast.Name, ast.Attribute)) and ast.dump(left) == ast.dump(right)
    elif isinstance(node, ast.Assign):
        count += len(node.targets) == 1 and isinstance(node.value, ast.Name) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == node.value.id
    elif isinstance(node, ast.ExceptHandler):
        count += node.type is None
    elif isinstance(node, ast.Dict):
        keys = [repr(key.value) for key in node.keys if isinstance(key, ast.Constant)]
        count += len(keys) - len(set(keys))
    elif isinstance(node, ast.JoinedStr):
        count += not any(isinstance(part, ast.FormattedValue) for part in node.values)
    elif isinstance(node, ast.Expr):
        count += isinstance(node.value, IDLE)
    elif isinstance(node, ast.arguments):
        count += sum(isinstance(one, (ast.List, ast.Dict, ast.Set)) for one in node.defaults + [one for one in node.kw_defaults if one is not None])
    return int(count)


def unused_imports(tree):
    """Names that are imported at the top and used nowhere; none where they may be meant for others."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if used & NOWHERE:
        return 0
    bound = []
    for node in tree.body:
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module != '__future__'):
            # `import a as a` is how a module gives on what it has.
            bound += [(one.asname or one.name).split('.')[0] for one in node.names if one.name != '*' and one.asname != one.name]
    return sum(name not in used for name in bound)


def unread(function):
    """Local names that get a value once or more and are read nowhere in the function."""
    inner = [node for node in ast.walk(function) if node is not function]
    if any(isinstance(node, (ast.Global, ast.Nonlocal)) or (isinstance(node, ast.Name) and node.id in NOWHERE) for node in inner):
        return 0
    read = {node.id for node in inner if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)}
    read |= {node.target.id for node in inner if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)}
    plain = {one.id for node in scope_of(function) if isinstance(node, ast.Assign) for one in node.targets if isinstance(one, ast.Name)}
    return sum(name not in read and not name.startswith('_') for name in plain)


def judged(path, text, modules):
    """[mismatches, broken, complexity, findings] of one file."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return [None, 1, None, None]
    except (RecursionError, MemoryError):
        return [None, None, None, None]
    try:
        count = Count(tree, path, modules)
        count.visit(tree)
        return [count.found, 0, complexity(tree), findings(tree)]
    except RecursionError:
        return [None, 0, None, None]


def main():
    asked = json.load(sys.stdin)
    root = asked['root']
    answers = []
    for path, text, others in asked['sources']:
        answers.append(judged(path, text, Modules(root, dict(others, **{path: text}))))
    sys.stdout.write(json.dumps(answers) + '\n')


if __name__ == '__main__':
    main()
