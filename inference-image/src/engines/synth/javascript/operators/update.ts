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
  ],
  '/=': [
    ['*=', 0.8],
    ['%=', 0.3],
    ['=', 0.2],
  ],
  '%=': [['/=', 1]],
  '|=': [
    ['&=', 1],
    ['=', 0.4],
    ['||=', 0.4],
  ],
  '&=': [
    ['|=', 1],
    ['=', 0.3],
    ['&&=', 0.4],
  ],
  '||=': [
    ['??=', 1],
    ['=', 0.5],
    ['&&=', 0.4],
  ],
  '&&=': [
    ['||=', 1],
    ['=', 0.5],
  ],
  '??=': [
    ['=', 1],
    ['||=', 0.5],
  ],
};

/** `=` for `+=` and the other way round, `??=` for `||=`, `++` for `--`. */
export const update: Operator = {
  name: 'update',
  prior: 0.7,
  on: ['assignment_expression', 'augmented_assignment_expression', 'update_expression'],
  *propose(node) {
    if (node.type === 'update_expression') {
      const name = node.child('argument')?.text ?? '';
      const isUp = node.text.includes('++');
      yield replace(node, node.text.replace(isUp ? '++' : '--', isUp ? '--' : '++'), 1);
      const isValue = node.parent?.type !== 'expression_statement' && node.parent?.type !== 'for_statement';
      if (isValue) yield replace(node, node.text.startsWith(name) ? `${isUp ? '++' : '--'}${name}` : `${name}${isUp ? '++' : '--'}`, 1);
      return;
    }
    const sign = signOf(node, others);
    if (sign !== null) for (const [after, weight] of others[sign.type] ?? []) yield replace(sign, after, weight);
    const [left, right] = [node.child('left'), node.child('right')];
    if (node.type !== 'assignment_expression' || left === null || right === null || left.type.endsWith('_pattern')) return;
    const argument = right.type === 'unary_expression' && /^[-+]/.test(right.text) ? right.child('argument') : null;
    if (argument !== null) yield replace(node, `${left.text} ${right.text[0] ?? ''}= ${argument.text}`, 2);
    // An entry that each turn makes afresh.
    const isFresh = left.type === 'subscript_expression' && /^(\[\]|\{\}|0|''|new (Map|Set)\(\))$/.test(right.text);
    if (isFresh) yield replace(node, `${left.text} ??= ${right.text}`, 3);
    for (const [sign, weight] of [
      ['+=', 0.8],
      ['-=', 0.2],
      ['*=', 0.1],
      ['??=', 0.5],
      ['||=', 0.2],
    ] as const)
      yield replace(node, `${left.text} ${sign} ${right.text}`, weight);
  },
};
