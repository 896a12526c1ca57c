import { isRead } from '../names.ts';
import { replace, type Operator } from '../operator.ts';

const around = ['int', 'str', 'float', 'list', 'set', 'sorted', 'len', 'abs', 'tuple', 'round', 'bool', 'reversed'];

/** A value of the wrong type: a missing or needless conversion, for one value or for each of a list. */
export const convert: Operator = {
  name: 'convert',
  prior: 0.3,
  on: ['identifier', 'call', 'subscript', 'attribute'],
  *propose(node) {
    const role = node.parent?.type ?? '';
    if (node.type === 'identifier' && !isRead(node)) return;
    if (/assignment$|^for_/.test(role) && node.field === 'left') return;
    if (role === 'attribute' || (role === 'call' && node.field === 'function') || role === 'subscript') return;
    if (node.type === 'call') {
      const inner = node.child('arguments')?.namedChildren;
      const callee = node.child('function');
      if (callee?.type === 'identifier' && inner?.length === 1)
        yield replace(node, inner[0]?.text ?? '', around.includes(callee.text) ? 0.8 : 0.3);
      if (callee?.type === 'attribute' && /\.(split|splitlines)$/.test(callee.text)) {
        yield replace(node, `[int(part) for part in ${node.text}]`, 1);
        yield replace(node, `[part.strip() for part in ${node.text}]`, 0.6);
        yield replace(node, `[part for part in ${node.text} if part]`, 0.5);
      }
      if (callee?.type === 'attribute' && inner?.length === 0) yield replace(node, callee.child('object')?.text ?? '', 0.4);
    }
    if (role === 'expression_statement' || role === 'keyword_argument') return;
    for (const name of around) {
      const weight = ['int', 'str', 'len', 'sorted', 'abs'].includes(name) ? 0.4 : 0.15;
      if (!node.text.startsWith(`${name}(`)) yield replace(node, `${name}(${node.text})`, weight);
    }
    for (const method of ['lower', 'strip']) yield replace(node, `${node.text}.${method}()`, 0.15);
  },
};
