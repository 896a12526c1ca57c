import { bracketed, replace, type Operator } from '../operator.ts';
import { argumentsOf, calledName, receiverOf } from '../syntax.ts';

/** The bounds of `slice`, `substring` or `splice`, and the index of an element. */
export const sliceBounds: Operator = {
  name: 'slice-bounds',
  prior: 0.8,
  on: ['call_expression', 'subscript_expression'],
  *propose(node) {
    if (node.type === 'subscript_expression') {
      const [object, index] = [node.child('object'), node.child('index')];
      if (object === null || index === null) return;
      if (index.type === 'number') yield* ['0', '1'].filter((after) => after !== index.text).map((after) => replace(index, after, 0.4));
      if (index.text === `${object.text}.length`) yield replace(index, `${index.text} - 1`, 2);
      if (index.type === 'number' || index.type === 'unary_expression')
        yield replace(node, `${object.text}.at(-1)`, index.text === '-1' ? 3 : 0.4);
      return;
    }
    const list = node.child('arguments');
    const method = calledName(node)?.text ?? '';
    if (list === null || !/^(slice|substring|substr|splice|at)$/.test(method)) return;
    const [from, to] = argumentsOf(node);
    if (from !== undefined && to !== undefined) {
      // An end that counts from the start is what `slice(at, size)` forgets.
      const isCount = from.type !== 'number' && !to.text.includes(from.text);
      yield replace(to, `${from.text} + ${bracketed(to)}`, isCount ? 3 : 0.1);
      yield replace(to, `${bracketed(to)} - ${bracketed(from)}`, 0.3);
      yield replace(list, `(${from.text})`, 0.5);
      yield replace(list, `(${to.text})`, 0.3);
      return;
    }
    if (from === undefined) return;
    yield replace(list, `(0, ${from.text})`, 0.8);
    yield replace(from, from.text.startsWith('-') ? from.text.slice(1) : `-${bracketed(from)}`, 0.6);
    if (method === 'splice') yield replace(list, `(${from.text}, 1)`, 1.5);
    if (receiverOf(node) !== null && method === 'slice') yield replace(list, `(${from.text}, -1)`, 0.3);
  },
};
