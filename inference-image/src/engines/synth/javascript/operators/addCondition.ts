import { bracketed, replace, type Operator } from '../operator.ts';
import { conditionOf } from '../syntax.ts';

const most = 8;

/** A condition that forgets a case: one more thing that must hold, or that suffices. */
export const addCondition: Operator = {
  name: 'add-condition',
  prior: 0.3,
  on: ['if_statement', 'while_statement', 'for_statement', 'ternary_expression'],
  *propose(node, file) {
    const condition = conditionOf(node);
    if (condition === null) return;
    const isOr = condition.children.some((child) => child.type === '||' || child.type === '??');
    const text = isOr || condition.type === 'ternary_expression' ? `(${condition.text})` : condition.text;
    for (const { name, kind } of file.locals(condition).slice(0, most)) {
      if (kind === 'array' || kind === 'string') yield replace(condition, `${name}.length > 0 && ${text}`, 0.8);
      yield replace(condition, `${name} && ${text}`, kind === 'number' || kind === 'array' ? 0.3 : 0.8);
      yield replace(condition, `${text} && !${name}`, 0.4);
      yield replace(condition, `!${name} || ${bracketed(condition)}`, 0.4);
      yield replace(condition, `${name} !== undefined && ${text}`, 0.4);
      if (kind === 'number') yield replace(condition, `${text} && ${name} > 0`, 0.4);
      if (kind === 'number') yield replace(condition, `${text} && ${name} >= 0`, 0.2);
    }
  },
};
