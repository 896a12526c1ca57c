import { bracketed, replace, type Operator } from '../operator.ts';

/** The bounds of a slice: an end that should count from the start, a bound too much, the wrong end. */
export const sliceBounds: Operator = {
  name: 'slice-bounds',
  prior: 0.8,
  on: ['slice', 'subscript'],
  *propose(node) {
    if (node.type === 'subscript') {
      const index = node.child('subscript');
      if (index?.type === 'integer' || index?.type === 'unary_operator') {
        for (const after of ['0', '-1', '1']) if (after !== index.text) yield replace(index, after, 0.4);
      }
      return;
    }
    const colon = node.children.findIndex((child) => child.type === ':');
    if (node.children.filter((child) => child.type === ':').length !== 1) return;
    const from = node.children.slice(0, colon).find((child) => child.named);
    const to = node.children.slice(colon + 1).find((child) => child.named);
    if (from !== undefined && to !== undefined) {
      yield replace(to, `${from.text} + ${bracketed(to)}`, 1);
      yield replace(to, `${bracketed(to)} - ${bracketed(from)}`, 0.3);
      yield replace(node, `${from.text}:`, 0.5);
      yield replace(node, `:${to.text}`, 0.4);
      return;
    }
    const only = from ?? to;
    if (only === undefined) return;
    yield replace(node, from === undefined ? `${only.text}:` : `:${only.text}`, 0.8);
    yield replace(only, only.text.startsWith('-') ? only.text.slice(1) : `-${bracketed(only)}`, 0.5);
  },
};
