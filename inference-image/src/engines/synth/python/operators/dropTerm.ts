import { replace, type Operator } from '../operator.ts';

/** A term too much: one side of an operation alone, or one branch of a choice. */
export const dropTerm: Operator = {
  name: 'drop-term',
  prior: 0.4,
  on: ['binary_operator', 'boolean_operator', 'conditional_expression', 'unary_operator'],
  *propose(node) {
    if (node.type === 'conditional_expression') {
      const [yes, , no] = node.namedChildren;
      if (yes !== undefined && no !== undefined) yield* [replace(node, yes.text, 0.4), replace(node, no.text, 0.4)];
      return;
    }
    const [left, right] = [node.child('left'), node.child('right')];
    if (left === null || right === null) return;
    yield replace(node, left.text, right.type === 'integer' ? 1 : 0.6);
    yield replace(node, right.text, 0.4);
  },
};
