import type { SyntaxNode } from '../language/syntax.ts';

export { type SyntaxNode } from '../language/syntax.ts';

/** Nodes that type stripping removes: never edited. */
export const types: ReadonlySet<string> = new Set([
  'type_annotation',
  'type_arguments',
  'type_parameters',
  'type_alias_declaration',
  'interface_declaration',
  'ambient_declaration',
  'implements_clause',
  'asserts_annotation',
  'type_predicate_annotation',
  'function_signature',
  'abstract_method_signature',
  'method_signature',
  'array_type',
  'generic_type',
  'predefined_type',
  'union_type',
  'intersection_type',
  'literal_type',
  'type_identifier',
  'tuple_type',
  'object_type',
  'lookup_type',
  'index_type_query',
  'type_query',
  'function_type',
  'readonly_type',
  'import_statement',
  'jsx_text',
]);

export const functions = [
  'function_declaration',
  'function_expression',
  'arrow_function',
  'method_definition',
  'generator_function',
  'generator_function_declaration',
] as const;
const functionTypes = new Set<string>(functions);

export const loops = ['for_statement', 'for_in_statement', 'while_statement', 'do_statement'] as const;

export function isFunction(node: SyntaxNode): boolean {
  return functionTypes.has(node.type);
}

export function functionOf(node: SyntaxNode): SyntaxNode | null {
  return node.ancestor(...functions);
}

const lists = new Set(['program', 'statement_block', 'switch_case', 'switch_default']);

/** Reports whether the node is in a list of statements, where others may come before and after it. */
export function isListed(node: SyntaxNode): boolean {
  if (node.parent === null || !lists.has(node.parent.type)) return false;
  return node.parent.child('value') !== node;
}

/** The statement in a list that holds the node, or is it. */
export function statementOf(node: SyntaxNode): SyntaxNode | null {
  let at: SyntaxNode | null = node;
  while (at !== null && !isListed(at)) at = at.parent;
  return at;
}

/** The statements beside this one, itself among them. */
export function siblingsOf(statement: SyntaxNode): readonly SyntaxNode[] {
  return statement.parent?.namedChildren.filter(isListed) ?? [];
}

const compound = new Set([
  'if_statement',
  ...loops,
  'try_statement',
  'switch_statement',
  'function_declaration',
  'generator_function_declaration',
  'class_declaration',
  'labeled_statement',
  'export_statement',
]);

export function isCompound(statement: SyntaxNode): boolean {
  return compound.has(statement.type);
}

const exits = new Set(['return_statement', 'break_statement', 'continue_statement', 'throw_statement']);

export function isExit(statement: SyntaxNode): boolean {
  return exits.has(statement.type);
}

/** The sign of an operation or an update, '' where there is none. */
export function signOf(node: SyntaxNode): string {
  return node.children.find((child) => child.field === 'operator')?.type ?? '';
}

/** The expression inside of brackets. */
export function unwrap(node: SyntaxNode): SyntaxNode {
  let at = node;
  while (at.type === 'parenthesized_expression' && at.namedChildren[0] !== undefined) at = at.namedChildren[0];
  return at;
}

/** The condition of an `if`, a loop or a choice, without its brackets. */
export function conditionOf(node: SyntaxNode): SyntaxNode | null {
  const condition = node.child('condition');
  if (condition === null || condition.type === 'empty_statement') return null;
  // The condition of a `for` is a statement in some versions of the grammar.
  const inner = condition.type === 'expression_statement' ? condition.namedChildren[0] : condition;
  return inner === undefined ? null : unwrap(inner);
}

/** Returns the name of the called function, without its object: `push` of `list.push(x)`. */
export function calledName(call: SyntaxNode): SyntaxNode | null {
  const callee = call.child('function') ?? call.child('constructor');
  if (callee?.type === 'member_expression') return callee.child('property');
  return callee?.type === 'identifier' ? callee : null;
}

/** The object that a method is called on. */
export function receiverOf(call: SyntaxNode): SyntaxNode | null {
  const callee = call.child('function');
  return callee?.type === 'member_expression' ? callee.child('object') : null;
}

export function argumentsOf(call: SyntaxNode): readonly SyntaxNode[] {
  const list = call.child('arguments');
  return list?.type === 'arguments' ? list.namedChildren : [];
}
