import type { NodeLines } from '../language.ts';
import { functionOf, statementOf, type SyntaxNode } from './syntax.ts';

/** The lines that speak for a node: its statement's, or the head of a statement with a body. */
export function lines(node: SyntaxNode): NodeLines {
  const statement = statementOf(node) ?? node;
  const body = statement.child('body') ?? statement.child('consequence') ?? statement.children.find((child) => child.type === 'block');
  const global = functionOf(statement) === null;
  // Defaults matter to those who call the function.
  if (statement.type === 'function_definition') return bodyStart(statement);
  if (body == null) return { from: statement.row + 1, to: statement.endRow + 1, global };
  // A clause such as `elif` or `except` has its own line.
  if (node !== statement && node.row >= body.row) return { from: node.row + 1, to: node.row + 1, global };
  return { from: statement.row + 1, to: Math.max(statement.row, body.row - 1) + 1, global };
}

/** A function stands for the first lines that run when it is called. */
function bodyStart(definition: SyntaxNode): NodeLines {
  const body = definition.child('body');
  const first = body?.namedChildren.find((statement) => statement.namedChildren[0]?.type !== 'string') ?? definition;
  return { from: first.row + 1, to: first.row + 1, global: false };
}
