import { replace, type Operator } from '../operator.ts';

const common = [
  'ValueError',
  'KeyError',
  'IndexError',
  'TypeError',
  'AttributeError',
  'ZeroDivisionError',
  'StopIteration',
  'OSError',
  'LookupError',
  'RuntimeError',
  'Exception',
];

/** The wrong exception is caught or raised. */
export const exceptionType: Operator = {
  name: 'exception-type',
  prior: 0.8,
  on: ['except_clause', 'raise_statement'],
  *propose(node) {
    const value = node.namedChildren[0];
    const type = value?.type === 'as_pattern' || value?.type === 'call' ? value.namedChildren[0] : value;
    if (type === undefined || type.type === 'block') return;
    if (type.type === 'tuple') {
      for (const other of common)
        if (!type.text.includes(other)) yield replace(type, `${type.text.slice(0, -1).replace(/,\s*$/, '')}, ${other})`, 0.5);
      return;
    }
    for (const other of common) {
      if (other === type.text) continue;
      yield replace(type, other, other === 'Exception' ? 0.4 : 1);
      if (node.type === 'except_clause') yield replace(type, `(${type.text}, ${other})`, 0.5);
    }
  },
};
