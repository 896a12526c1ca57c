import { bracketed, replace, type Operator } from '../operator.ts';
import type { SyntaxNode } from '../syntax.ts';

const bounds = new Set(['subscript', 'slice', 'argument_list', 'comparison_operator', 'return_statement', 'assignment']);

/** Off by one: a bound, an index or a count is one too high or too low. */
export const integerOffset: Operator = {
  name: 'integer-offset',
  prior: 0.8,
  on: ['integer', 'identifier', 'binary_operator', 'call', 'attribute', 'subscript'],
  *propose(node, file) {
    if (node.type === 'integer') {
      if (node.parent?.type === 'unary_operator') return;
      const value = Number(node.text);
      const index = node.parent?.type === 'subscript' || Math.abs(value) > 12 ? 0.4 : 1;
      if (!Number.isSafeInteger(value)) return;
      yield replace(node, String(value + 1), index);
      yield replace(node, String(value - 1), value === 0 ? 0.5 : index);
      return;
    }
    if (!isBound(node)) return;
    const weight = weightOf(node, (name) => file.names(node).find((info) => info.name === name)?.kind === 'number');
    if (weight === 0) return;
    const text = node.type === 'binary_operator' && /[-+]/.test(node.children[1]?.type ?? '') ? node.text : bracketed(node);
    yield replace(node, `${text} + 1`, weight);
    yield replace(node, `${text} - 1`, weight);
  },
};

function isBound(node: SyntaxNode): boolean {
  const parent = node.parent;
  if (parent === null || !bounds.has(parent.type)) return false;
  if (parent.type === 'subscript') return node.field === 'subscript';
  if (parent.type === 'assignment') return node.field === 'right' && node.type === 'binary_operator';
  return true;
}

function weightOf(node: SyntaxNode, isNumber: (name: string) => boolean): number {
  const role = node.parent?.type;
  if (role === 'slice') return 1;
  if (role === 'argument_list') {
    const callee = node.parent?.parent?.child('function')?.text;
    if (callee === 'range') return 1;
    return isNumeric(node, isNumber) ? 0.3 : 0;
  }
  if (isNumeric(node, isNumber)) return role === 'subscript' ? 0.8 : role === 'comparison_operator' ? 0.3 : 0.6;
  return role === 'subscript' && node.type === 'binary_operator' ? 0.6 : 0;
}

function isNumeric(node: SyntaxNode, isNumber: (name: string) => boolean): boolean {
  if (node.type === 'identifier') return isNumber(node.text);
  if (node.type === 'call') return ['len', 'int', 'abs', 'sum', 'max', 'min'].includes(node.child('function')?.text ?? '');
  return node.type === 'binary_operator' && !node.children.some((child) => child.type === 'string');
}
