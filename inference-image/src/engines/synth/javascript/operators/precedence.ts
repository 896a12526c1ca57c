import { replace, type Operator } from '../operator.ts';
import { unwrap } from '../syntax.ts';

/** Operands that belong together otherwise: `a * (b + c)` for `a * b + c`, `(a ?? 0) + b` for `a ?? 0 + b`. */
export const precedence: Operator = {
  name: 'precedence',
  prior: 0.4,
  on: ['binary_expression', 'unary_expression'],
  *propose(node) {
    if (node.type === 'unary_expression') {
      const outer = node.parent;
      const argument = node.child('argument');
      const sign = node.children[0]?.type ?? '';
      // `!a in b` negates before it looks.
      if (outer?.type === 'binary_expression' && node.field === 'left' && sign === '!' && argument !== null) {
        const rest = outer.text.slice(node.end - outer.start);
        yield replace(outer, `!(${argument.text}${rest})`, 1);
      }
      return;
    }
    const [left, right] = [node.child('left'), node.child('right')];
    const sign = node.children.find((child) => child.field === 'operator')?.type ?? '';
    if (left === null || right === null) return;
    for (const side of [left, right]) {
      const inner = unwrap(side);
      if (inner.type !== 'binary_expression') continue;
      const [a, b] = [inner.child('left'), inner.child('right')];
      const other = inner.children.find((child) => child.field === 'operator')?.type ?? '';
      if (a === null || b === null || other === sign) continue;
      if (side === left) yield replace(node, `${a.text} ${other} (${b.text} ${sign} ${right.text})`, 1);
      else yield replace(node, `(${left.text} ${sign} ${a.text}) ${other} ${b.text}`, 1);
    }
  },
};
