import type { SyntaxNode } from '../language/syntax.ts';
import { isConstant, named } from '../language/forms.ts';

/** The statement that holds the node: the nearest node directly inside a block or the module. */
export function statementOf(node: SyntaxNode): SyntaxNode | null {
  let at: SyntaxNode | null = node;
  while (at !== null && at.parent?.type !== 'block' && at.parent?.type !== 'module') at = at.parent;
  return at;
}

export function functionOf(node: SyntaxNode): SyntaxNode | null {
  return node.ancestor('function_definition', 'lambda') ?? null;
}

const compound = new Set([
  'if_statement',
  'for_statement',
  'while_statement',
  'try_statement',
  'with_statement',
  'function_definition',
  'class_definition',
  'decorated_definition',
  'match_statement',
]);

export function isCompound(statement: SyntaxNode): boolean {
  return compound.has(statement.type);
}

/** Most likely type of a name's value, by how it is assigned and used. */
export type Kind = 'number' | 'string' | 'list' | 'dict' | 'set' | 'bool' | 'callable' | 'unknown';

export interface NameInfo {
  readonly name: string;
  readonly kind: Kind;
  /** Bound in the function itself, not outside of it. */
  readonly local: boolean;
  /** Text offset from which the first binding can be read; parameters count as the function's start. */
  readonly boundAt: number;
  /** Number of bindings and reads in the scope. */
  readonly bindings: number;
  readonly reads: number;
}

const literalKinds: Readonly<Record<string, Kind>> = {
  integer: 'number',
  float: 'number',
  string: 'string',
  concatenated_string: 'string',
  list: 'list',
  list_comprehension: 'list',
  dictionary: 'dict',
  dictionary_comprehension: 'dict',
  set: 'set',
  set_comprehension: 'set',
  true: 'bool',
  false: 'bool',
  comparison_operator: 'bool',
  not_operator: 'bool',
  lambda: 'callable',
};

const callKinds = new Map<string, Kind>([
  ...named('number', 'len int float sum abs round ord'),
  ...named('string', 'str repr join strip lower upper replace'),
  ...named('list', 'list sorted split splitlines'),
  ...named('dict', 'dict defaultdict Counter OrderedDict'),
  ...named('set', 'set frozenset'),
  ...named('bool', 'isinstance any all isdigit startswith endswith'),
]);

/** Kind of an expression by its own form. */
export function kindOf(node: SyntaxNode): Kind {
  const literal = literalKinds[node.type];
  if (literal !== undefined) return literal;
  if (node.type === 'parenthesized_expression') return node.namedChildren[0] === undefined ? 'unknown' : kindOf(node.namedChildren[0]);
  if (node.type === 'call') return callKinds.get(node.child('function')?.text.split('.').at(-1) ?? '') ?? 'unknown';
  if (node.type === 'unary_operator') return 'number';
  if (node.type !== 'binary_operator') return 'unknown';
  const kinds = [node.child('left'), node.child('right')].map((side) => (side === null ? 'unknown' : kindOf(side)));
  return kinds.find((kind) => kind !== 'unknown') ?? 'unknown';
}

/** Reports whether the node is a name that is read: not a binding, attribute, keyword or import. */
export function isRead(node: SyntaxNode): boolean {
  if (node.type !== 'identifier') return false;
  const parent = node.parent;
  if (parent === null) return false;
  if (parent.type === 'attribute') return node.field === 'object';
  if (parent.type === 'keyword_argument') return node.field === 'value';
  if (['function_definition', 'class_definition'].includes(parent.type)) return false;
  return (
    !isBound(node) && node.ancestor('import_statement', 'import_from_statement', 'global_statement', 'nonlocal_statement', 'type') === null
  );
}

/** Reports whether the identifier is assigned here. */
export function isBound(node: SyntaxNode): boolean {
  let at = node;
  while (
    at.parent !== null &&
    ['pattern_list', 'tuple_pattern', 'list_pattern', 'as_pattern_target', 'list_splat_pattern', 'dictionary_splat_pattern'].includes(
      at.parent.type,
    )
  )
    at = at.parent;
  const parent = at.parent;
  if (parent === null) return false;
  if (['parameters', 'lambda_parameters', 'typed_parameter'].includes(parent.type)) return true;
  if (['default_parameter', 'typed_default_parameter', 'named_expression'].includes(parent.type)) return at.field === 'name';
  if (['assignment', 'augmented_assignment', 'for_statement', 'for_in_clause'].includes(parent.type)) return at.field === 'left';
  return at.field === 'alias';
}

/** Names by the scope that binds them; a file keeps one. */
export type ScopeCache = Map<SyntaxNode, readonly NameInfo[]>;

/** Every name that can be read at the node: of the function and of the module, locals first. */
export function namesAt(node: SyntaxNode, cache: ScopeCache = new Map()): readonly NameInfo[] {
  const scopes: SyntaxNode[] = [];
  for (let at = functionOf(node); at !== null; at = functionOf(at)) scopes.push(at);
  const found = new Map<string, NameInfo>();
  scopes.forEach((scope, depth) => {
    for (const info of known(scope, cache)) if (!found.has(info.name)) found.set(info.name, { ...info, local: depth === 0 });
  });
  let root = node;
  while (root.parent !== null) root = root.parent;
  for (const info of known(root, cache)) if (!found.has(info.name)) found.set(info.name, info);
  return [...found.values()];
}

function known(scope: SyntaxNode, cache: ScopeCache): readonly NameInfo[] {
  const found = cache.get(scope) ?? bindings(scope);
  cache.set(scope, found);
  return found;
}

type Binding = Pick<NameInfo, 'kind' | 'boundAt' | 'bindings'>;

function bindings(scope: SyntaxNode): readonly NameInfo[] {
  const found = new Map<string, Binding>();
  for (const node of scope.walk()) if (node.type === 'identifier') bindAt(node, scope, found);
  useKinds(scope, found);
  const reads = new Map<string, number>();
  for (const node of scope.walk()) if (found.has(node.text) && isRead(node)) reads.set(node.text, (reads.get(node.text) ?? 0) + 1);
  return [...found].map(([name, info]) => ({ name, local: false, ...info, reads: reads.get(name) ?? 0 }));
}

function bindAt(node: SyntaxNode, scope: SyntaxNode, found: Map<string, Binding>): void {
  const bind = (kind: Kind, boundAt: number): void => {
    const known = found.get(node.text) ?? { kind, boundAt, bindings: 0 };
    found.set(node.text, { ...known, kind: known.kind === 'unknown' ? kind : known.kind, bindings: known.bindings + 1 });
  };
  const definition = node.parent;
  if (definition !== null && node.field === 'name' && ['function_definition', 'class_definition'].includes(definition.type)) {
    if (definition !== scope && scopeOf(definition) === scope) bind('callable', definition.start);
  } else if (definition?.type === 'dotted_name' || definition?.type === 'aliased_import') {
    // The module of `from module import name` binds nothing; of the rest capitals are constants, others functions, classes or modules.
    if (scopeOf(node) === scope && definition.field !== 'module_name') bind(isConstant(node.text) ? 'unknown' : 'callable', node.start);
  } else if (isBound(node) && scopeOf(node) === scope && node.ancestor('for_in_clause') === null) {
    bind(boundKind(node), isParameter(node) ? scope.start : readableFrom(node));
  }
}

/** An assignment can be read after it, the target of a loop in its body. */
function readableFrom(node: SyntaxNode): number {
  const holder = node.ancestor('assignment', 'augmented_assignment', 'for_statement', 'with_statement', 'except_clause');
  if (holder === null) return node.start;
  return holder.type.endsWith('assignment') ? holder.end : (holder.child('body')?.start ?? node.end);
}

function scopeOf(node: SyntaxNode): SyntaxNode {
  let at = node.parent as SyntaxNode;
  while (at.parent !== null && at.type !== 'function_definition' && at.type !== 'lambda') at = at.parent;
  return at;
}

function isParameter(node: SyntaxNode): boolean {
  return node.ancestor('parameters', 'lambda_parameters', 'block', 'module')?.type.endsWith('parameters') === true;
}

function boundKind(node: SyntaxNode): Kind {
  const parent = node.parent;
  if (parent?.type === 'assignment') return kindOf(parent.child('right') ?? parent);
  if (parent?.type === 'default_parameter') return kindOf(parent.child('value') ?? parent);
  if (parent?.type !== 'for_statement') return 'unknown';
  const source = parent.child('right');
  return source?.type === 'call' && source.child('function')?.text === 'range' ? 'number' : 'unknown';
}

/** Fills unknown kinds by use: arithmetic with a number, iteration, methods. */
function useKinds(scope: SyntaxNode, kinds: Map<string, Binding>): void {
  for (const node of scope.walk()) {
    if (node.type !== 'identifier' || kinds.get(node.text)?.kind !== 'unknown') continue;
    const known = kinds.get(node.text);
    const kind = usedKind(node);
    if (known !== undefined && kind !== 'unknown') kinds.set(node.text, { ...known, kind });
  }
}

const methodKinds = new Map<string, Kind>([
  ...named('list', 'append extend insert sort'),
  ...named('dict', 'items keys values setdefault get'),
  ...named('string', 'strip split lower upper startswith isdigit splitlines'),
  ...named('set', 'add'),
]);

function usedKind(node: SyntaxNode): Kind {
  const parent = node.parent;
  if (parent === null) return 'unknown';
  if (parent.type === 'attribute') return methodKinds.get(parent.child('attribute')?.text ?? '') ?? 'unknown';
  if (['binary_operator', 'comparison_operator', 'augmented_assignment'].includes(parent.type)) {
    const other = parent.namedChildren.find((child) => child !== node);
    const kind = other === undefined ? 'unknown' : kindOf(other);
    if (parent.children.some((child) => ['in', 'not in', '%'].includes(child.type))) return 'unknown';
    if (kind === 'number' || kind === 'string') return kind;
    return parent.children.some((child) => ['-', '/', '//', '-=', '<', '>=', '<=', '>'].includes(child.type)) ? 'number' : 'unknown';
  }
  return 'unknown';
}
