import { brief, type Operator } from '../operator.ts';

const mutable = ['list', 'dictionary', 'set'];

/** A default that all calls share: `None`, and a fresh value in the body. */
export const mutableDefault: Operator = {
  name: 'mutable-default',
  prior: 1.5,
  on: ['default_parameter', 'typed_default_parameter'],
  *propose(node, file) {
    const [name, value] = [node.child('name'), node.child('value')];
    const shared = value !== null && (mutable.includes(value.type) || (value.type === 'call' && /^(list|dict|set)\(/.test(value.text)));
    const body = node.ancestor('function_definition')?.child('body');
    if (!shared || name === null || body == null) return;
    const statements = body.namedChildren;
    const docstring = statements[0]?.namedChildren[0]?.type === 'string' && statements.length > 1;
    const first = statements[docstring ? 1 : 0];
    if (first === undefined) return;
    const after = `if ${name.text} is None:${file.newline}${file.deeper(first)}${name.text} = ${value.text}${file.newline}${file.indent(first)}`;
    const edits = [
      { start: value.start, end: value.end, after: 'None' },
      { start: first.start, end: first.start, after },
    ];
    yield { edits, weight: 1, rationale: `make a fresh ${brief(value.text)} for each call` };
  },
};
