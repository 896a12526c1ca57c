import { child, named, walk, type Node } from '../../syntax/node.ts';

/** A function of a class body: a method, or a lambda that stands for one. */
export interface Method {
  readonly name: string;
  readonly node: Node;
  readonly decorators: readonly string[];
}

/** A class as far as its own text shows it. */
export interface Class {
  readonly name: string;
  readonly node: Node;
  /** Without `metaclass=…` and other keywords. */
  readonly bases: readonly Node[];
  readonly methods: readonly Method[];
  /** Names that the class body binds to something else than a function. */
  readonly values: ReadonlyMap<string, Node>;
  /** Reports whether an attribute of its objects can differ from one object to the next. */
  varies(attribute: string): boolean;
}

const constant = new Set(['integer', 'float', 'string', 'true', 'false', 'none', 'ellipsis']);

/** All classes of a module, also those inside of functions. */
export function classesOf(root: Node): readonly Class[] {
  return [...walk(root)].filter(({ type }) => type === 'class_definition').map((node) => classOf(node, root));
}

function classOf(node: Node, root: Node): Class {
  const bases = child(node, 'superclasses');
  const methods: Method[] = [];
  const values = new Map<string, Node>();
  for (const one of members(child(node, 'body'))) {
    if (one.node.type === 'function_definition') methods.push({ ...one, name: child(one.node, 'name')?.text ?? '' });
    else bindValue(one.node, { methods, values, root });
  }
  return {
    name: child(node, 'name')?.text ?? '',
    node,
    bases: bases === null ? [] : named(bases).filter(({ type }) => type !== 'keyword_argument'),
    methods,
    values,
    varies: (attribute) => varies(attribute, { node, methods, values }),
  };
}

interface Member {
  readonly node: Node;
  readonly decorators: readonly string[];
}

/** Functions and assignments of a class body, also those under an `if` or a `try`. */
function* members(block: Node | null): Generator<Member> {
  for (const one of block === null ? [] : named(block)) {
    if (one.type === 'function_definition') yield { node: one, decorators: [] };
    else if (one.type === 'decorated_definition') {
      const node = child(one, 'definition');
      const decorators = named(one).filter(({ type }) => type === 'decorator');
      if (node?.type === 'function_definition') yield { node, decorators: decorators.map(({ text }) => text.slice(1).trim()) };
    } else if (one.type === 'expression_statement') {
      for (const part of named(one)) if (part.type === 'assignment') yield { node: part, decorators: [] };
    } else if (one.type !== 'class_definition') yield* members(one);
  }
}

/** `__eq__ = lambda …` and `__eq__ = same` are methods; `__ne__ = __eq__ = …` binds both. */
function bindValue(
  assignment: Node,
  { methods, values, root }: { readonly methods: Method[]; readonly values: Map<string, Node>; readonly root: Node },
): void {
  const [left, right] = [child(assignment, 'left'), child(assignment, 'right')];
  if (left === null || right === null) return;
  if (right.type === 'assignment') bindValue(right, { methods, values, root });
  const value = right.type === 'assignment' ? lastOf(right) : right;
  for (const target of left.type === 'identifier' ? [left] : named(left)) {
    const node = value.type === 'lambda' ? value : functionNamed(value, root);
    if (node === undefined || left.type !== 'identifier') values.set(target.text, value);
    else methods.push({ name: target.text, node, decorators: [] });
  }
}

const lastOf = (assignment: Node): Node => {
  const right = child(assignment, 'right');
  return right === null ? assignment : right.type === 'assignment' ? lastOf(right) : right;
};

function functionNamed(value: Node, root: Node): Node | undefined {
  if (value.type !== 'identifier') return undefined;
  return named(root).find((one) => one.type === 'function_definition' && child(one, 'name')?.text === value.text);
}

/** Reports whether an attribute differs between objects. A constant of the class, or one set to constants only, compares nothing. */
function varies(attribute: string, { node, methods, values }: Pick<Class, 'node' | 'methods' | 'values'>): boolean {
  if (attribute === '__class__' || attribute === '__doc__' || attribute === '__module__') return false;
  const own = methods.filter(({ name }) => name === attribute);
  if (own.length > 0) return own.every(({ node }) => readsState(node));
  const assigned = [...walk(node)].filter((one) => one.type === 'assignment' && isOwn(child(one, 'left'), attribute));
  const value = values.get(attribute);
  if (assigned.length === 0 && value !== undefined) return isDeclared(node, attribute) || !isConstant(value);
  return assigned.length === 0 || assigned.some((one) => !isConstant(child(one, 'right')));
}

const isConstant = (node: Node | null): boolean =>
  node !== null && (constant.has(node.type) || (node.type === 'tuple' && named(node).every(isConstant)));

const isOwn = (left: Node | null, attribute: string): boolean =>
  left?.type === 'attribute' && child(left, 'object')?.type === 'identifier' && child(left, 'attribute')?.text === attribute;

/** `amount: int = 0` is a field of a dataclass, and its constant the default only. */
function isDeclared(node: Node, attribute: string): boolean {
  return [...walk(node)].some((one) => one.type === 'assignment' && child(one, 'left')?.text === attribute && child(one, 'type') !== null);
}

function readsState(method: Node): boolean {
  const self = parametersOf(method)[0];
  return [...walk(method)].some(
    (one) =>
      (one.type === 'attribute' && child(one, 'object')?.text === self && child(one, 'attribute')?.text !== '__class__') ||
      (one.type === 'subscript' && child(one, 'value')?.text === self),
  );
}

/** Names of the plain parameters of a function or lambda. */
export function parametersOf(node: Node): readonly string[] {
  const list = child(node, 'parameters');
  return (list === null ? [] : named(list)).flatMap((one) => {
    if (one.type === 'identifier') return [one.text];
    const name = child(one, 'name') ?? (one.type === 'typed_parameter' ? (named(one)[0] ?? null) : null);
    return name?.type === 'identifier' ? [name.text] : [];
  });
}
