import { isRead } from '../names.ts';
import { isValue, replace, type Operator } from '../operator.ts';
import { functionOf, types, type SyntaxNode } from '../syntax.ts';

const most = 6;

/** An expression that the function computes elsewhere belongs here too. */
export const reuseExpression: Operator = {
  name: 'reuse-expression',
  prior: 0.3,
  on: ['identifier', 'number'],
  *propose(node) {
    const role = node.parent?.type ?? '';
    if (
      !isValue(node) ||
      !/^(return_statement|variable_declarator|arguments|(augmented_)?assignment_expression|binary_expression)$/.test(role)
    )
      return;
    if (node.type === 'identifier' && !isRead(node)) return;
    for (const text of expressions(node).slice(0, most)) yield replace(node, text, text.includes(node.text) ? 1 : 0.4);
  },
};

/** Values of the function's variables that are small and not literals. */
function expressions(node: SyntaxNode): readonly string[] {
  const texts = new Set<string>();
  for (const inner of functionOf(node)?.walk(types) ?? []) {
    const right = inner.child('right') ?? inner.child('value');
    if (right === null || !/assignment_expression$|^variable_declarator$/.test(inner.type)) continue;
    const own = right.start <= node.start && node.end <= right.end;
    if (own || !/^(call|binary|subscript|member)_expression$/.test(right.type) || right.text.length > 60) continue;
    texts.add(right.type === 'binary_expression' ? `(${right.text})` : right.text);
  }
  return [...texts];
}
