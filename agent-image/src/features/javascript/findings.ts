import { child, walk, type Node, named, type Grammars, withoutTypes } from '../../rails/syntax/node.ts';

/** Names that a file binds anywhere, with how often. Scopes are not distinguished: a name that is bound once is bound for all uses. */
export function bindingsOf(root: Node): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const add = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const node of walk(root)) for (const part of binders(node)) for (const name of namesIn(part)) add(name);
  return counts;
}

/** Parts of a node that bind names. */
function binders(node: Node): readonly Node[] {
  const field = (name: string): readonly Node[] => [child(node, name)].flatMap((one) => one ?? []);
  switch (node.type) {
    case 'variable_declarator':
    case 'function_declaration':
    case 'generator_function_declaration':
    case 'function_expression':
    case 'class_declaration':
    case 'class':
      return [...field('name'), ...field('parameters')];
    case 'method_definition':
      return field('parameters');
    case 'arrow_function':
      return [...field('parameter'), ...field('parameters')];
    case 'catch_clause':
      return field('parameter');
    case 'for_in_statement':
      return field('left');
    case 'import_clause':
    case 'namespace_import':
      return node.children.filter(({ type }) => type === 'identifier');
    case 'import_specifier':
      return [child(node, 'alias') ?? child(node, 'name')].flatMap((one) => one ?? []);
    default:
      return [];
  }
}

/**
 * Returns the identifiers of a pattern; names to the right of a default are uses, but count as bound: that errs on the
 * side of silence.
 */
function namesIn(pattern: Node): readonly string[] {
  return [...walk(pattern)].flatMap(({ type, text }) =>
    type === 'identifier' || type === 'shorthand_property_identifier_pattern' ? [text] : [],
  );
}

/** Returns how many arguments a function takes at most; Infinity where it may take any number. */
export function mostArguments(definition: Node): number {
  const parameters = child(definition, 'parameters');
  if (parameters === null) return child(definition, 'parameter') === null ? Number.POSITIVE_INFINITY : 1;
  const named = parameters.children.filter((one) => one.named && one.type !== 'comment');
  const any = named.some(({ type }) => type === 'rest_pattern');
  const body = child(definition, 'body');
  const asks = body !== null && [...walk(body)].some(({ type, text }) => type === 'identifier' && text === 'arguments');
  return any || asks ? Number.POSITIVE_INFINITY : named.length;
}

/** Functions of a file by name, with how many arguments they take; only those whose name is bound once. */
export function functionsOf(root: Node, bindings: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const node of walk(root)) {
    const name = child(node, 'name')?.text ?? '';
    const value = node.type === 'variable_declarator' ? child(node, 'value') : node;
    if (value === null || bindings.get(name) !== 1) continue;
    if (value.type === 'function_declaration' || value.type === 'arrow_function' || value.type === 'function_expression')
      found.set(name, mostArguments(value));
  }
  return found;
}

const decisions = new Set(
  'if_statement ternary_expression for_statement for_in_statement while_statement do_statement catch_clause switch_case'.split(' '),
);
/** Operators whose right side acts or not, as statements like `ready && start()` have it. */
const branching = new Set(['&&', '||', '??']);
const jumps = new Set(['return_statement', 'throw_statement', 'break_statement', 'continue_statement']);
const idle = new Set('identifier binary_expression member_expression subscript_expression array number ternary_expression'.split(' '));
const equalities = new Set(['==', '!=', '===', '!==']);

/** Cyclomatic complexity of a whole file: 1, and 1 for each decision. */
export function complexityOf(root: Node): number {
  return [...walk(root)].reduce((sum, node) => sum + Number(decisions.has(node.type) || branching.has(operatorOf(node))), 1);
}

/** Returns findings of the usual linters, limited to those that are hardly ever intended. */
export function findingsOf(root: Node): number {
  return [...walk(root)].reduce((sum, node) => sum + wrong(node), 0) + unused(root);
}

const operatorOf = ({ type, children }: Node): string =>
  type === 'binary_expression' ? (children.find(({ field }) => field === 'operator')?.text ?? '') : '';
const text = (node: Node | null): string => node?.text ?? '';
const parts = (node: Node | null, wanted: string): readonly Node[] => node?.children.filter(({ type }) => type === wanted) ?? [];

/** Counts the findings at one node, without those below it. */
function wrong(node: Node): number {
  switch (node.type) {
    case 'program':
    case 'statement_block':
      return unreachable(named(node));
    case 'switch_statement':
      return repeated(parts(child(node, 'body'), 'switch_case').map((one) => text(child(one, 'value'))));
    case 'object':
      return repeated(parts(node, 'pair').map((one) => text(child(one, 'key'))));
    case 'binary_expression':
      return wrongComparison(node);
    case 'assignment_expression':
      return Number(text(child(node, 'left')) === text(child(node, 'right')));
    case 'parenthesized_expression':
      return Number(node.children.some(({ type }) => type === 'assignment_expression') && node.field === 'condition');
    case 'catch_clause':
      return Number(child(node, 'body')?.children.every(({ named: isNamed }) => !isNamed) === true);
    case 'expression_statement':
      return Number(node.children.some((one) => idle.has(one.type) && !branching.has(operatorOf(one))));
    default:
      return 0;
  }
}

/** Counts statements after one that never continues; functions may be anywhere. */
function unreachable(statements: readonly Node[]): number {
  return statements.filter(({ type }, at) => type !== 'function_declaration' && at > 0 && jumps.has(statements[at - 1]?.type ?? '')).length;
}

const repeated = (words: readonly string[]): number => words.length - new Set(words).size;

function wrongComparison(node: Node): number {
  const operator = operatorOf(node);
  if (!equalities.has(operator)) return 0;
  const [left, right] = [child(node, 'left'), child(node, 'right')];
  const sides = [text(left), text(right)];
  const simple = left?.type === 'identifier' || left?.type === 'member_expression';
  // `x == null` asks for undefined too, and is meant.
  const loose = operator.length === 2 && !sides.includes('null');
  return Number(loose) + Number(sides.includes('NaN')) + Number(simple && sides[0] === sides[1]);
}

/** Counts imports and variables that occur only where they are bound. */
function unused(root: Node): number {
  const times = new Map<string, number>();
  for (const { type, text: name } of walk(root))
    if (type === 'identifier' || type.startsWith('shorthand_property_identifier')) times.set(name, (times.get(name) ?? 0) + 1);
  const bound = [...walk(root)].flatMap((node) => {
    if (node.type === 'import_specifier') return [text(child(node, 'alias') ?? child(node, 'name'))];
    if (node.type === 'namespace_import' || node.type === 'import_clause')
      return node.children.flatMap((one) => (one.type === 'identifier' ? [one.text] : []));
    return node.type === 'lexical_declaration' ? variablesOf(node) : [];
  });
  const given = exportedNames(root);
  const counts = bindingsOf(root);
  return bound.filter((name) => counts.get(name) === 1 && times.get(name) === 1 && !name.startsWith('_') && !given.has(name)).length;
}

/** Returns a declaration's single name; destructuring may be for the sake of the rest. */
function variablesOf(node: Node): readonly string[] {
  return node.children.flatMap((one) => {
    const name = one.type === 'variable_declarator' ? child(one, 'name') : null;
    return name?.type === 'identifier' ? [name.text] : [];
  });
}

function exportedNames(root: Node): ReadonlySet<string> {
  const names = root.children.filter(({ type }) => type === 'export_statement').flatMap((one) => [...walk(one)]);
  return new Set(names.flatMap(({ type, text: name }) => (type === 'identifier' ? [name] : [])));
}

/** A source of JavaScript or TypeScript as a tree, or the number of syntax errors; null: the parser does not know. */
type ReadSource = { readonly root: Node } | { readonly broken: number } | null;

/** Most places that are counted. */
const mostBroken = 32;

/** Parses a source; of TypeScript the types are taken out first, each replaced by as many blanks. Nothing is run. */
export function readSource(path: string, text: string, grammars: Grammars): ReadSource {
  if (/\.[jt]sx$/.test(path)) return null;
  const plain = /\.[cm]?ts$/.test(path) ? withoutTypes(text) : text;
  if (plain === null || typeof plain !== 'string') return plain;
  const parsed = grammars.parse('javascript', plain);
  if (parsed === null) return null;
  if (!parsed.broken) return { root: parsed.root };
  const places = [...walk(parsed.root)].filter(({ type }) => type === 'ERROR').length;
  return { broken: Math.min(mostBroken, Math.max(1, places)) };
}
