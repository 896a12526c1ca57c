import type { SyntaxNode } from '../syntax/index.ts';

export { find, type SyntaxNode } from '../syntax/index.ts';

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
