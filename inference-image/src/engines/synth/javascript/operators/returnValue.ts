import { replace, type Operator } from '../operator.ts';

/** A function returns another variable than it should, or one of the usual constants. */
export const returnValue: Operator = {
  name: 'return-value',
  prior: 0.5,
  on: ['return_statement'],
  *propose(node, file) {
    const [value] = node.namedChildren;
    const locals = file.locals(node);
    if (value === undefined) {
      for (const info of locals) yield replace(node, `return ${info.name}${file.end}`, 0.5);
      return;
    }
    for (const info of locals)
      if (info.name !== value.text) yield replace(value, info.name, (value.type === 'identifier' ? 1 : 0.5) * (info.reads === 0 ? 4 : 1));
    const inverse: Readonly<Record<string, string>> = { true: 'false', false: 'true' };
    for (const after of ['null', 'undefined', '0', 'true', 'false', '[]', "''"]) {
      if (after !== value.text) yield replace(value, after, inverse[value.type] === after ? 0.8 : 0.1);
    }
  },
};
