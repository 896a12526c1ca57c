import { isRead } from '../names.ts';
import { bracketed, replace, type Operator } from '../operator.ts';

const most = 10;

/** A fixed number where a variable is meant, a variable where a number is, a switch that only goes one way. */
export const literalName: Operator = {
  name: 'literal-name',
  prior: 0.3,
  on: ['integer', 'true', 'false', 'identifier'],
  *propose(node, file) {
    if (node.type === 'identifier') {
      const numeric = isRead(node) && ['binary_operator', 'augmented_assignment', 'comparison_operator'].includes(node.parent?.type ?? '');
      if (numeric) yield* ['1', '0'].map((after) => replace(node, after, 0.3));
      return;
    }
    const store = node.parent?.type === 'assignment' ? node.parent.child('left') : null;
    if (node.type !== 'integer') {
      if (store !== null) yield replace(node, `not ${bracketed(store)}`, 1);
      return;
    }
    const role = node.parent?.type;
    if (role === 'default_parameter' || role === 'unary_operator') return;
    const names = file
      .names(node)
      .filter((info) => (info.kind === 'number' || info.kind === 'unknown') && info.name !== store?.text && info.boundAt < node.start);
    for (const info of names.slice(0, most)) yield replace(node, info.name, (info.kind === 'number' ? 1 : 0.5) * (info.local ? 1 : 0.3));
  },
};
