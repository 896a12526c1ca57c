import { bracketed, replace, type Operator } from '../operator.ts';

const most = 8;

/** A condition that forgets a case: one more thing that must hold, or that suffices. */
export const addCondition: Operator = {
  name: 'add-condition',
  prior: 0.3,
  on: ['if_statement', 'elif_clause', 'while_statement'],
  *propose(node, file) {
    const condition = node.child('condition');
    if (condition === null) return;
    const text =
      condition.type === 'boolean_operator' && condition.children.some((child) => child.type === 'or')
        ? `(${condition.text})`
        : condition.text;
    const names = file.names(condition).filter((info) => info.local && info.boundAt < condition.start && info.kind !== 'callable');
    for (const { name, kind } of names.slice(0, most)) {
      yield replace(condition, `${name} and ${text}`, kind === 'number' ? 0.3 : 1);
      yield replace(condition, `${text} and not ${name}`, 0.5);
      yield replace(condition, `not ${name} or ${bracketed(condition)}`, 0.4);
      yield replace(condition, `${name} is not None and ${text}`, 0.4);
      if (kind === 'number') yield replace(condition, `${text} and ${name} > 0`, 0.4);
    }
  },
};
