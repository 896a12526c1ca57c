import { bracketed, isValue, replace, signOf, type Operator } from '../operator.ts';
import type { ScriptFile } from '../file.ts';
import { calledName, type SyntaxNode } from '../syntax.ts';

const bounds = new Set(['slice', 'substring', 'splice', 'at', 'fill', 'repeat', 'padStart', 'padEnd', 'setDate', 'setMonth', 'indexOf']);

const products = new Set(['*', '/', '%']);

/** Off by one: a bound, an index or a count is one too high or too low. */
export const integerOffset: Operator = {
  name: 'integer-offset',
  prior: 0.8,
  on: ['number', 'identifier', 'binary_expression', 'call_expression', 'member_expression'],
  *propose(node, file) {
    if (node.type === 'number') {
      const value = Number(node.text);
      if (node.parent?.type === 'unary_expression' || !Number.isSafeInteger(value)) return;
      const index = /^(subscript_expression|arguments)$/.test(node.parent?.type ?? '') || Math.abs(value) > 12 ? 0.4 : 1;
      yield replace(node, String(value + 1), index);
      yield replace(node, String(value - 1), value === 0 ? 0.5 : index);
      return;
    }
    const weight = isValue(node) ? weightOf(node, file) : 0;
    if (weight === 0) return;
    const isSum = node.type === 'binary_expression' && /^[-+]$/.test(node.children[1]?.type ?? '');
    const text = isSum ? node.text : bracketed(node);
    const inProduct = signOf(node.parent ?? node, products) !== null;
    for (const sign of ['+', '-']) yield replace(node, inProduct ? `(${text} ${sign} 1)` : `${text} ${sign} 1`, weight);
  },
};

function weightOf(node: SyntaxNode, file: ScriptFile): number {
  const role = node.parent?.type;
  const isNumber = file.kind(node) === 'number';
  if (role === 'arguments') {
    const name = node.parent?.parent === null || node.parent === null ? '' : (calledName(node.parent.parent)?.text ?? '');
    return isNumber ? (bounds.has(name) ? 1 : 0.3) : 0;
  }
  if (role === 'subscript_expression') return isNumber ? 0.8 : 0;
  if (!isNumber) return 0;
  if (signOf(node.parent ?? node, products) !== null) return node.type === 'identifier' || node.type === 'member_expression' ? 0.4 : 0;
  if (role === 'binary_expression')
    return /^([<>]=?|[!=]==?)$/.test(node.parent?.children.find((child) => child.field === 'operator')?.type ?? '') ? 0.4 : 0;
  return role === 'return_statement' || role === 'variable_declarator' || role === 'assignment_expression' || role === 'arrow_function'
    ? 0.5
    : 0;
}
