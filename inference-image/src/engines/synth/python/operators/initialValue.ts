import { replace, type Operator } from '../operator.ts';
import { functionOf, type SyntaxNode } from '../syntax.ts';

/** An accumulator that starts from the wrong value. */
export const initialValue: Operator = {
  name: 'initial-value',
  prior: 0.7,
  on: ['assignment'],
  *propose(node) {
    const [left, right] = [node.child('left'), node.child('right')];
    if (left === null || right === null || !/^(integer|float|none|string|list|dictionary|unary_operator|call)$/.test(right.type)) return;
    if (right.type === 'call' && !/^(float|set|dict|list)\(/.test(right.text)) return;
    const names = isCompared(node, left.text);
    const numeric: [string, number][] = [
      ['0', 1],
      ['1', 1],
      ['-1', 0.5],
      ["float('-inf')", names ? 1 : 0.2],
      ["float('inf')", names ? 1 : 0.2],
      ['None', 0.3],
    ];
    const other: [string, number][] = [
      ['[]', 0.6],
      ['{}', 0.5],
      ['set()', 0.4],
      ["''", 0.4],
      ['0', 0.4],
      ['None', 0.3],
    ];
    const numberLike = /^(integer|float|unary_operator)$/.test(right.type) || right.text.startsWith('float(');
    for (const [after, weight] of numberLike ? numeric : other) if (after !== right.text) yield replace(right, after, weight);
  },
};

/** Whether the name is later compared: the sign of a minimum or maximum. */
function isCompared(node: SyntaxNode, name: string): boolean {
  const scope = functionOf(node);
  if (scope === null) return false;
  for (const inner of scope.walk()) {
    if (inner.type === 'comparison_operator' && inner.namedChildren.some((child) => child.text === name)) return true;
    if (inner.type === 'call' && /^(min|max)\(/.test(inner.text) && inner.text.includes(name)) return true;
  }
  return false;
}
