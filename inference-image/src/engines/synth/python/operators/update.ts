import { replace, signOf, type Operator } from '../operator.ts';

const others: Readonly<Record<string, readonly (readonly [string, number])[]>> = {
  '+=': [
    ['=', 0.8],
    ['-=', 1],
    ['*=', 0.4],
  ],
  '-=': [
    ['+=', 1],
    ['=', 0.4],
  ],
  '*=': [
    ['+=', 0.8],
    ['/=', 0.4],
    ['=', 0.3],
    ['**=', 0.1],
  ],
  '/=': [
    ['//=', 1],
    ['*=', 0.6],
  ],
  '//=': [
    ['/=', 1],
    ['%=', 0.4],
  ],
  '%=': [['//=', 1]],
  '|=': [
    ['&=', 1],
    ['=', 0.4],
    ['^=', 0.3],
  ],
  '&=': [
    ['|=', 1],
    ['=', 0.3],
  ],
};

/** `=` for `+=` and the other way round, `=-` for `-=`, or another sign. */
export const update: Operator = {
  name: 'update',
  prior: 0.7,
  on: ['assignment', 'augmented_assignment'],
  *propose(node, file) {
    if (node.type === 'augmented_assignment') {
      const sign = signOf(node, others);
      for (const [after, weight] of sign === null ? [] : (others[sign.type] ?? []))
        yield replace(sign as NonNullable<typeof sign>, after, weight);
      return;
    }
    const [left, right] = [node.child('left'), node.child('right')];
    if (left === null || right === null || !['identifier', 'attribute', 'subscript'].includes(left.type)) return;
    if (right.type === 'unary_operator' && /^[-+]/.test(right.text)) {
      yield replace(node, `${left.text} ${right.text[0]}= ${right.child('argument')?.text ?? ''}`, 2);
    }
    // A first value cannot be an update.
    const first = left.type === 'identifier' && file.names(node).some((info) => info.name === left.text && info.boundAt === node.end);
    if (first) return;
    yield replace(node, `${left.text} += ${right.text}`, 0.8);
    yield replace(node, `${left.text} -= ${right.text}`, 0.2);
    yield replace(node, `${left.text} *= ${right.text}`, 0.1);
  },
};
