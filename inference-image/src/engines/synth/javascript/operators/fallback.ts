import { bracketed, isValue, replace, type Operator } from '../operator.ts';
import { calledName, type SyntaxNode } from '../syntax.ts';

const usual: readonly (readonly [string, number])[] = [
  ['0', 1],
  ['[]', 0.8],
  ["''", 0.6],
  ['{}', 0.5],
  ['null', 0.5],
  ['1', 0.3],
  ['false', 0.3],
];

/** A value that may be absent needs one in its place: `counts.get(k) ?? 0`. */
export const fallback: Operator = {
  name: 'fallback',
  prior: 0.4,
  on: ['call_expression', 'member_expression', 'subscript_expression', 'identifier'],
  *propose(node) {
    if (node.field !== 'object' && !isValue(node)) return;
    const weight = weightOf(node) * (isOwnUpdate(node) ? 4 : 1);
    if (weight === 0) return;
    const bare = /^(variable_declarator|return_statement|arguments|pair|assignment_expression|arrow_function)$/.test(
      node.parent?.type ?? '',
    );
    for (const [value, share] of usual) {
      const text = `${bracketed(node)} ?? ${value}`;
      yield replace(node, bare ? text : `(${text})`, weight * share);
    }
  },
};

/** `counts[key] = counts[key] + 1` has nothing to add to at first. */
function isOwnUpdate(node: SyntaxNode): boolean {
  const left = node.ancestor('assignment_expression', 'expression_statement')?.child('left');
  return left?.type === 'subscript_expression' && left.text === node.text;
}

function weightOf(node: SyntaxNode): number {
  const sign = node.parent?.children.find((child) => child.field === 'operator')?.type ?? '';
  if (/^(\?\?|\|\||&&|[!=]==?|in|instanceof|\?\?=)$/.test(sign) || node.parent?.type === 'unary_expression') return 0;
  const name = node.type === 'call_expression' ? (calledName(node)?.text ?? '') : '';
  if (/^(get|find|at|pop|shift|match|exec|findLast)$/.test(name)) return 1;
  if (node.type === 'call_expression') return 0;
  if (node.type === 'subscript_expression') return 0.8;
  return node.type === 'member_expression' ? 0.4 : 0.2;
}
