import { isRead } from '../names.ts';
import { replace, type Operator } from '../operator.ts';
import { functionOf, type SyntaxNode } from '../syntax.ts';

const most = 6;

/** An expression that the function computes elsewhere belongs here too. */
export const reuseExpression: Operator = {
  name: 'reuse-expression',
  prior: 0.3,
  on: ['identifier', 'integer'],
  *propose(node) {
    const role = node.parent?.type ?? '';
    if (!['return_statement', 'assignment', 'argument_list', 'augmented_assignment', 'comparison_operator'].includes(role)) return;
    if (node.type === 'identifier' && !isRead(node)) return;
    if (role === 'assignment' && node.field !== 'right') return;
    for (const text of expressions(node).slice(0, most)) yield replace(node, text, text.includes(node.text) ? 1 : 0.4);
  },
};

/** Right sides of the function's assignments that are small and not literals. */
function expressions(node: SyntaxNode): readonly string[] {
  const texts = new Set<string>();
  for (const inner of functionOf(node)?.walk() ?? []) {
    if (inner.type !== 'assignment' && inner.type !== 'augmented_assignment') continue;
    const right = inner.child('right');
    const own = right !== null && right.start <= node.start && node.end <= right.end;
    if (right === null || own || !['call', 'binary_operator', 'subscript', 'attribute'].includes(right.type) || right.text.length > 60)
      continue;
    texts.add(right.text);
  }
  return [...texts];
}
