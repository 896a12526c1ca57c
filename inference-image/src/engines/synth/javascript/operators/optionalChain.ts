import { replace, type Operator } from '../operator.ts';

/** A property of what may be absent: `a?.b`. */
export const optionalChain: Operator = {
  name: 'optional-chain',
  prior: 0.15,
  on: ['member_expression', 'subscript_expression'],
  *propose(node) {
    const object = node.child('object');
    if (object === null || /^(this|super)$/.test(object.type) || node.children.some((child) => child.type === 'optional_chain')) return;
    const isTarget = node.parent?.type.endsWith('assignment_expression') === true && node.field === 'left';
    const isGlobal = /^[A-Z]/.test(object.text);
    if (isTarget || isGlobal) return;
    const rest = node.text.slice(object.text.length);
    const weight = /^(call|subscript|member)_expression$/.test(object.type) ? 1 : 0.6;
    yield replace(node, `${object.text}?.${rest.replace(/^\s*\./, '')}`, weight);
  },
};
