import { replace, type Operator } from '../operator.ts';

/** A term too much: one side of an operation alone, or one branch of a choice. */
export const dropTerm: Operator = {
  name: 'drop-term',
  prior: 0.4,
  on: ['binary_expression', 'ternary_expression'],
  *propose(node) {
    if (node.type === 'ternary_expression') {
      for (const role of ['consequence', 'alternative']) {
        const branch = node.child(role);
        if (branch !== null) yield replace(node, branch.text, 0.4);
      }
      return;
    }
    const [left, right] = [node.child('left'), node.child('right')];
    if (left === null || right === null || /^[<>!=i]/.test(node.children.find((child) => child.field === 'operator')?.type ?? '')) return;
    yield replace(node, left.text, right.type === 'number' ? 1 : 0.6);
    yield replace(node, right.text, 0.4);
  },
};
