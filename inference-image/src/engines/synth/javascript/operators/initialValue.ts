import { replace, type Operator } from '../operator.ts';
import { argumentsOf, calledName, functionOf, type SyntaxNode } from '../syntax.ts';

type Weighed = readonly (readonly [string, number])[];

/** An accumulator that starts from the wrong value, also that of `reduce`. */
export const initialValue: Operator = {
  name: 'initial-value',
  prior: 0.7,
  on: ['variable_declarator', 'assignment_expression', 'call_expression'],
  *propose(node) {
    const value = startOf(node);
    if (value === null) return;
    const name = (node.child('name') ?? node.child('left'))?.text ?? '';
    const isNumber = /^(number|unary_expression)$/.test(value.type) || /^(-?Infinity|Number\.\w+)$/.test(value.text);
    for (const [after, weight] of isNumber ? numbers(isCompared(node, name)) : others)
      if (after !== value.text) yield replace(value, after, weight);
  },
};

const others: Weighed = [
  ['[]', 0.6],
  ['{}', 0.5],
  ['new Set()', 0.3],
  ['new Map()', 0.3],
  ["''", 0.4],
  ['0', 0.4],
  ['null', 0.3],
  ['undefined', 0.2],
  ['false', 0.2],
  ['true', 0.2],
];

function numbers(compared: boolean): Weighed {
  return [
    ['0', 1],
    ['1', 1],
    ['-1', 0.5],
    ['-Infinity', compared ? 1 : 0.2],
    ['Infinity', compared ? 1 : 0.2],
    ['null', 0.3],
  ];
}

/** The value that something starts from: a literal, an empty collection, an extreme. */
function startOf(node: SyntaxNode): SyntaxNode | null {
  const isReduce = node.type === 'call_expression' && /^reduce(Right)?$/.test(calledName(node)?.text ?? '');
  if (node.type === 'call_expression' && !isReduce) return null;
  const value = isReduce ? argumentsOf(node)[1] : (node.child('value') ?? node.child('right'));
  if (value == null) return null;
  const isLiteral = /^(number|null|undefined|string|array|object|unary_expression|true|false)$/.test(value.type) && value.text.length < 12;
  return isLiteral || /^(-?Infinity|Number\.\w+|new (Map|Set)\(\))$/.test(value.text) ? value : null;
}

/** Whether the name is later compared: the sign of a minimum or maximum. */
function isCompared(node: SyntaxNode, name: string): boolean {
  for (const inner of functionOf(node)?.walk() ?? []) {
    const sign = inner.type === 'binary_expression' ? (inner.children.find((child) => child.field === 'operator')?.type ?? '') : '';
    if (/^[<>]=?$/.test(sign) && inner.namedChildren.some((child) => child.text === name)) return true;
    if (inner.type === 'call_expression' && /^Math\.(min|max)\(/.test(inner.text) && inner.text.includes(name)) return true;
  }
  return node.type === 'call_expression' && /Math\.(min|max)/.test(node.text);
}
