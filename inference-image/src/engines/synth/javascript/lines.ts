import type { NodeLines } from '../language.ts';
import { functionOf, isFunction, type SyntaxNode } from './syntax.ts';

/** The lines that speak for a node: its statement's, or the head of a statement with a body. */
export function lines(node: SyntaxNode): NodeLines {
  const unit = unitOf(node);
  if (isFunction(unit) && unit !== node) return bodyStart(unit, node);
  if (isFunction(unit)) return bodyStart(unit, unit);
  const global = functionOf(unit) === null;
  const body = blockOf(unit);
  if (body === null) return { from: unit.row + 1, to: unit.endRow + 1, global };
  return { from: unit.row + 1, to: Math.max(unit.row, body.row - 1) + 1, global };
}

/** The nearest statement, clause, member or arrow function's value that lines can be told of. */
function unitOf(node: SyntaxNode): SyntaxNode {
  let at = node;
  while (at.parent !== null && !isUnit(at)) at = at.parent;
  return at;
}

function isUnit(node: SyntaxNode): boolean {
  if (node.parent?.type === 'arrow_function' && node.field === 'body') return node.type !== 'statement_block';
  if (isFunction(node)) return node.type !== 'arrow_function' || node.child('body')?.type === 'statement_block';
  if (node.type === 'lexical_declaration') return node.field !== 'initializer';
  return (
    /_(statement|declaration|definition)$/.test(node.type) ||
    ['else_clause', 'catch_clause', 'switch_case', 'switch_default', 'program'].includes(node.type)
  );
}

function blockOf(unit: SyntaxNode): SyntaxNode | null {
  const body = unit.child('body') ?? unit.child('consequence');
  if (body !== null) return body;
  return unit.children.find((child) => child.type === 'statement_block') ?? null;
}

/** A function stands for the first lines that run when it is called; what is in its head for its own too. */
function bodyStart(unit: SyntaxNode, node: SyntaxNode): NodeLines {
  const body = unit.child('body');
  const first = body?.type === 'statement_block' ? (body.namedChildren[0] ?? body) : (body ?? unit);
  const from = node === unit ? first.row : Math.min(node.row, first.row);
  return { from: from + 1, to: first.row + 1, global: false };
}
