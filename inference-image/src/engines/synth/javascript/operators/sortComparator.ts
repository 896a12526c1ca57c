import { replace, type Operator, type Proposal } from '../operator.ts';
import { argumentsOf, calledName, type SyntaxNode } from '../syntax.ts';

const comparators: readonly (readonly [string, number])[] = [
  ['(a, b) => a - b', 2],
  ['(a, b) => b - a', 1.2],
  ['(a, b) => a.localeCompare(b)', 0.2],
  ['(a, b) => b.localeCompare(a)', 0.1],
];

/** `sort` orders texts unless it is reported otherwise, and a comparator that answers true or false does not order. */
export const sortComparator: Operator = {
  name: 'sort-comparator',
  prior: 0.8,
  on: ['call_expression'],
  *propose(node) {
    if (!/^(sort|toSorted)$/.test(calledName(node)?.text ?? '')) return;
    const [comparator] = argumentsOf(node);
    const list = node.child('arguments');
    if (list === null) return;
    if (comparator === undefined) yield* comparators.map(([text, weight]) => replace(list, `(${text})`, weight));
    else yield* turned(comparator);
  },
};

function* turned(comparator: SyntaxNode): Generator<Proposal> {
  const body = comparator.type === 'arrow_function' ? comparator.child('body') : null;
  const names = (comparator.child('parameters')?.namedChildren ?? []).map((parameter) => parameter.text);
  const [one, other] = names;
  if (body === null || one === undefined || other === undefined) return;
  const parts = body.type === 'binary_expression' ? [body.child('left')?.text ?? '', body.child('right')?.text ?? ''] : [];
  const [left, right] = parts;
  const sign = body.children.find((child) => child.field === 'operator')?.type ?? '';
  if (left !== undefined && right !== undefined && /^[<>]=?$/.test(sign)) {
    const [less, more] = sign.startsWith('<') ? [left, right] : [right, left];
    yield replace(body, `${less} - ${more}`, 0.6);
    yield replace(body, `${more} - ${less}`, 1);
    yield replace(body, `${more} < ${less} ? -1 : ${more} > ${less} ? 1 : 0`, 0.5);
  }
  if (left !== undefined && right !== undefined && sign === '-') {
    yield replace(body, `${right} - ${left}`, 1);
    yield replace(body, `${left}.localeCompare(${right})`, 0.5);
  }
  yield replace(body, `-(${body.text})`, 0.3);
}
