import { replace, type Operator, type Proposal } from '../operator.ts';
import type { SyntaxNode } from '../syntax.ts';

/** Neighbouring arguments, operands or elements in the wrong order. */
export const swapArguments: Operator = {
  name: 'swap-arguments',
  prior: 0.45,
  on: ['arguments', 'binary_expression', 'subscript_expression', 'array', 'array_pattern', 'ternary_expression', 'formal_parameters'],
  *propose(node, file) {
    if (node.type === 'binary_expression') {
      const [left, right] = [node.child('left'), node.child('right')];
      const sign = node.children.find((child) => child.field === 'operator')?.type ?? '';
      if (left === null || right === null || !/^([-+/%]|\*\*|<<|>>|\?\?|\|\|)$/.test(sign)) return;
      const text = sign === '+' && file.kind(node) !== 'string';
      yield swap(left, right, text ? 0.05 : 0.5);
      return;
    }
    if (node.type === 'subscript_expression') {
      const inner = node.child('object');
      const [one, other] = [inner?.child('index'), node.child('index')];
      if (inner?.type === 'subscript_expression' && one != null && other != null) yield swap(one, other, 0.8);
      return;
    }
    if (node.type === 'ternary_expression') {
      const [yes, no] = [node.child('consequence'), node.child('alternative')];
      if (yes !== null && no !== null) yield swap(yes, no, 0.6);
      return;
    }
    const items = node.namedChildren;
    // The parameters of a callback are in the order of its caller; those of others are a promise.
    if (node.type === 'formal_parameters' && (node.parent?.type !== 'arrow_function' || node.parent.field === 'value')) return;
    for (const [at, item] of items.entries()) {
      const next = items[at + 1];
      if (next !== undefined) yield swap(item, next, items.length > 5 ? 0.2 : 1);
    }
  },
};

function swap(one: SyntaxNode, other: SyntaxNode, weight: number): Proposal {
  const first = replace(one, other.text, weight, `swap \`${one.text.slice(0, 28)}\` and \`${other.text.slice(0, 28)}\``);
  return { ...first, edits: [...first.edits, { start: other.start, end: other.end, after: one.text }] };
}
