import { child, walk, type Node } from '../../rails/syntax/node.ts';

/** Names that a file binds anywhere, with how often. Scopes are not told apart: a name that is bound once is bound for all uses. */
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
      return node.children.filter(({ type }) => type === 'identifier');
    case 'namespace_import':
      return node.children.filter(({ type }) => type === 'identifier');
    case 'import_specifier':
      return [child(node, 'alias') ?? child(node, 'name')].flatMap((one) => one ?? []);
    default:
      return [];
  }
}

/** Identifiers of a pattern; what stands to the right of a default is used, and counts as bound: that errs to silence. */
function namesIn(pattern: Node): readonly string[] {
  return [...walk(pattern)].flatMap(({ type, text }) =>
    type === 'identifier' || type === 'shorthand_property_identifier_pattern' ? [text] : [],
  );
}

/** How many arguments a function takes at most; Infinity where it may take any number. */
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
