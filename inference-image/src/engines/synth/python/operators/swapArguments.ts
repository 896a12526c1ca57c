import { replace, type Operator, type Proposal } from '../operator.ts';
import type { SyntaxNode } from '../syntax.ts';

/** Neighbouring arguments, operands or indices in the wrong order. */
export const swapArguments: Operator = {
  name: 'swap-arguments',
  prior: 0.45,
  on: ['argument_list', 'binary_operator', 'subscript', 'expression_list', 'tuple', 'pattern_list', 'conditional_expression'],
  *propose(node) {
    if (node.type === 'binary_operator') {
      const [left, right] = [node.child('left'), node.child('right')];
      const ordered = node.children.some((child) => ['-', '/', '//', '%', '**', '<<', '>>', '+'].includes(child.type));
      const plus = node.children.some((child) => child.type === '+');
      if (left !== null && right !== null && ordered) yield swap(left, right, plus ? 0.2 : 0.5);
      return;
    }
    if (node.type === 'subscript') {
      const inner = node.child('value');
      const [one, other] = [inner?.child('subscript'), node.child('subscript')];
      if (inner?.type === 'subscript' && one != null && other != null) yield swap(one, other, 0.8);
      return;
    }
    if (node.type === 'conditional_expression') {
      const [yes, , no] = node.namedChildren;
      if (yes !== undefined && no !== undefined) yield swap(yes, no, 0.6);
      return;
    }
    const items = node.namedChildren.filter((child) => child.type !== 'keyword_argument');
    for (const [at, item] of items.entries()) {
      const next = items[at + 1];
      if (next !== undefined) yield swap(item, next, items.length > 5 ? 0.2 : 1);
    }
  },
};

function swap(one: SyntaxNode, other: SyntaxNode, weight: number): Proposal {
  const [first] = [replace(one, other.text, weight, `swap \`${one.text.slice(0, 28)}\` and \`${other.text.slice(0, 28)}\``)];
  return { ...first, edits: [...first.edits, { start: other.start, end: other.end, after: one.text }] };
}
