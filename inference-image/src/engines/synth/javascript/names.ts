import { kindOf, kindOfType, type Kind, kindByUse } from './kinds.ts';
import { isConstant } from '../language/forms.ts';
import { isFunction, type SyntaxNode, types } from './syntax.ts';

type Declared = 'const' | 'let' | 'var' | 'parameter' | 'function' | 'class' | 'import';

interface Binding {
  readonly name: string;
  readonly declared: Declared;
  kind: Kind;
  /** Text offset from which it holds a value: a declaration's end, a loop's body, a function's start. */
  readonly boundAt: number;
  /** Expression of its value, if there is exactly one. */
  readonly value: SyntaxNode | null;
  /** Number of reads in the file; `n += 1` is none. */
  reads: number;
}

/** Names of one block, function or module. */
class Scope {
  readonly node: SyntaxNode;
  readonly parent: Scope | null;
  readonly names = new Map<string, Binding>();

  constructor(node: SyntaxNode, parent: Scope | null) {
    this.node = node;
    this.parent = parent;
  }

  declare(name: string, declared: Declared, boundAt: number, kind: Kind = 'unknown', value: SyntaxNode | null = null): void {
    const known = this.names.get(name);
    if (known === undefined) this.names.set(name, { name, declared, kind, boundAt, value, reads: 0 });
    else if (known.kind === 'unknown') known.kind = kind;
  }

  /** Resolves a name here, by the rules of lexical scope. */
  resolve(name: string): Binding | null {
    return this.names.get(name) ?? this.parent?.resolve(name) ?? null;
  }
}

type Scopes = ReadonlyMap<SyntaxNode, Scope>;

const openers = new Set([
  'program',
  'statement_block',
  'for_statement',
  'for_in_statement',
  'catch_clause',
  'switch_body',
  'class_static_block',
]);

/** Reports whether a new scope begins at the node. A function's body shares the one of its parameters. */
function opens(node: SyntaxNode): boolean {
  if (isFunction(node)) return true;
  if (node.type === 'statement_block') return node.parent === null || !isFunction(node.parent);
  return openers.has(node.type);
}

function scopesOf(root: SyntaxNode, skipped: ReadonlySet<string>): Scopes {
  const scopes = new Map<SyntaxNode, Scope>();
  for (const node of root.walk(new Set([...skipped].filter((type) => type !== 'import_statement')))) {
    const outer = node.parent === null ? null : scopeAt(node.parent, scopes);
    if (outer === null || opens(node)) scopes.set(node, new Scope(node, outer));
    declareAt(node, scopes, outer);
  }
  return scopes;
}

/** The innermost scope around the node, or opened by it. */
function scopeAt(node: SyntaxNode, scopes: Scopes): Scope | null {
  for (let at: SyntaxNode | null = node; at !== null; at = at.parent) {
    const found = scopes.get(at);
    if (found !== undefined) return found;
  }
  return null;
}

function functionScope(scope: Scope): Scope {
  let at = scope;
  while (at.parent !== null && !isFunction(at.node)) at = at.parent;
  return at;
}

function declareAt(node: SyntaxNode, scopes: Map<SyntaxNode, Scope>, outer: Scope | null): void {
  const own = scopes.get(node);
  if (node.type === 'variable_declarator') declareVariable(node, outer);
  else if (node.type === 'for_in_statement') declareLoop(node, own);
  else if (isFunction(node)) declareFunction(node, own, outer);
  else if (node.type === 'class_declaration') declareNamed(node, outer, 'class');
  else if (node.type === 'catch_clause') declarePattern(node.child('parameter'), own, 'let', node.child('body')?.start ?? node.start);
  else if (node.type === 'import_specifier') declareImport(node.child('alias') ?? node.child('name'), outer);
  else if (node.type === 'identifier' && /^(import_clause|namespace_import)$/.test(node.parent?.type ?? '')) declareImport(node, outer);
}

function declareVariable(node: SyntaxNode, outer: Scope | null): void {
  const word = node.parent?.children.find((child) => !child.named)?.type;
  const declared = word === 'const' || word === 'let' ? word : 'var';
  const scope = outer === null || declared !== 'var' ? outer : functionScope(outer);
  const value = node.child('value');
  const kind = kindOfType(node.child('type')) ?? (value === null ? 'unknown' : kindOf(value));
  declarePattern(node.child('name'), scope, declared, node.end, kind, value);
}

function declareLoop(node: SyntaxNode, own: Scope | undefined): void {
  const word = node.children.find((child) => child.field === 'kind')?.type;
  if (word === undefined || own === undefined) return;
  const declared = word === 'const' || word === 'let' ? word : 'var';
  const scope = declared === 'var' && own.parent !== null ? functionScope(own.parent) : own;
  const isKey = node.children.some((child) => child.type === 'in');
  declarePattern(
    node.child('left'),
    scope,
    declared,
    node.child('body')?.start ?? node.end,
    isKey ? 'string' : 'unknown',
    node.child('right'),
  );
}

function declareFunction(node: SyntaxNode, own: Scope | undefined, outer: Scope | null): void {
  if (/^(generator_)?function_declaration$/.test(node.type)) declareNamed(node, outer, 'function');
  else if (node.type !== 'method_definition') declareNamed(node, own ?? null, 'function');
  declarePattern(node.child('parameter'), own, 'parameter', node.start);
  for (const parameter of node.child('parameters')?.namedChildren ?? []) {
    const pattern = parameter.child('pattern') ?? parameter;
    const initial = parameter.child('value') ?? (parameter.type === 'assignment_pattern' ? parameter.child('right') : null);
    const kind = kindOfType(parameter.child('type')) ?? (initial === null ? 'unknown' : kindOf(initial));
    declarePattern(pattern, own, 'parameter', node.start, kind);
  }
}

function declareNamed(node: SyntaxNode, scope: Scope | null | undefined, declared: 'function' | 'class'): void {
  const name = node.child('name');
  if (name !== null) scope?.declare(name.text, declared, declared === 'function' ? 0 : node.end, 'function');
}

function declareImport(name: SyntaxNode | null, outer: Scope | null): void {
  const isType = name?.ancestor('import_statement')?.children.some((child) => child.type === 'type') === true;
  const isTypeName = name?.parent?.children.some((child) => child.type === 'type') === true;
  if (name !== null && !isType && !isTypeName) outer?.declare(name.text, 'import', 0, isConstant(name.text) ? 'unknown' : 'function');
}

/** Declares each name of a pattern; only a plain name has the kind of the whole value. */
function declarePattern(
  pattern: SyntaxNode | null,
  scope: Scope | null | undefined,
  declared: Declared,
  boundAt: number,
  kind: Kind = 'unknown',
  value: SyntaxNode | null = null,
): void {
  if (pattern === null || scope == null) return;
  const whole = pattern.type === 'identifier';
  for (const name of boundNames(pattern)) {
    const rest: Kind = name.parent?.type === 'rest_pattern' && name.ancestor('object_pattern') === null ? 'array' : 'unknown';
    scope.declare(name.text, declared, boundAt, whole ? kind : rest, value);
  }
}

/** The identifiers that a pattern binds; defaults and keys are left out. */
export function* boundNames(pattern: SyntaxNode): Generator<SyntaxNode> {
  if (['identifier', 'shorthand_property_identifier_pattern'].includes(pattern.type)) yield pattern;
  else if (/^(object_)?assignment_pattern$/.test(pattern.type)) yield* boundIn(pattern.child('left'));
  else if (pattern.type === 'pair_pattern') yield* boundIn(pattern.child('value'));
  else if (/^(object|array|rest)_pattern$/.test(pattern.type)) for (const child of pattern.namedChildren) yield* boundNames(child);
}

function* boundIn(pattern: SyntaxNode | null): Generator<SyntaxNode> {
  if (pattern !== null) yield* boundNames(pattern);
}

export type { Kind } from './kinds.ts';

/** A name that can be read at some place; `local`: bound in the innermost function around the place, not outside of it. */
export type NameInfo = Readonly<Binding> & { readonly local: boolean };

/** Reports whether the node is a name that is read: neither a binding, a property nor a label. */
export function isRead(node: SyntaxNode): boolean {
  if (node.type === 'shorthand_property_identifier') return true;
  return node.type === 'identifier' && !isBound(node) && !/^import_|^namespace_|^export_specifier$/.test(node.parent?.type ?? '');
}

/** Reports whether the identifier is bound or assigned here. */
export function isBound(node: SyntaxNode): boolean {
  if (node.type === 'shorthand_property_identifier_pattern') return true;
  let at = node;
  while (at.parent !== null && isPatternOf(at.parent, at)) at = at.parent;
  const parent = at.parent;
  if (parent === null) return false;
  if (parent.type === 'variable_declarator') return at.field === 'name';
  if (parent.type === 'assignment_expression' || parent.type === 'for_in_statement') return at.field === 'left';
  if (parent.type === 'formal_parameters') return true;
  if (parent.type.endsWith('_parameter')) return at.field === 'pattern';
  if (parent.type === 'catch_clause' || parent.type === 'arrow_function') return at.field === 'parameter';
  return at.field === 'name' && /^(class|function|generator)/.test(parent.type);
}

function isPatternOf(pattern: SyntaxNode, child: SyntaxNode): boolean {
  if (/^(object|array|rest)_pattern$/.test(pattern.type)) return true;
  if (/^(object_)?assignment_pattern$/.test(pattern.type)) return child.field === 'left';
  return pattern.type === 'pair_pattern' && child.field === 'value';
}

/** The names of a file: scopes are found once, and each read is counted for the binding it means. */
export class Names {
  readonly #scopes: Scopes;
  readonly #known = new Map<Scope, readonly NameInfo[]>();

  constructor(root: SyntaxNode) {
    this.#scopes = scopesOf(root, types);
    for (const node of root.walk(types)) this.#count(node);
  }

  /** Every name that can be read at the node, the innermost first; a shadowed one is not among them. */
  at(node: SyntaxNode): readonly NameInfo[] {
    const scope = scopeAt(node, this.#scopes);
    if (scope === null) return [];
    const known = this.#known.get(scope) ?? visible(scope);
    this.#known.set(scope, known);
    return known;
  }

  #count(node: SyntaxNode): void {
    const bound = isBound(node);
    const read = !bound && isRead(node);
    if (!read && !bound) return;
    const binding = scopeAt(node, this.#scopes)?.resolve(node.text);
    if (binding == null) return;
    const changes = /^(update|augmented_assignment)_expression$/.test(node.parent?.type ?? '') && node.field !== 'right';
    if (read && !changes) binding.reads += 1;
    if (binding.kind === 'unknown') binding.kind = kindByUse(node);
  }
}

function visible(scope: Scope): readonly NameInfo[] {
  const found = new Map<string, NameInfo>();
  let local = true;
  for (let at: Scope | null = scope; at !== null; at = at.parent) {
    for (const binding of at.names.values()) if (!found.has(binding.name)) found.set(binding.name, { ...binding, local });
    if (isFunction(at.node)) local = false;
  }
  return [...found.values()];
}
