import { areSiblings } from '../../language.ts';
import { replace, type Operator } from '../operator.ts';

const most = 10;
const families: readonly (readonly string[])[] = [
  ['length', 'size'],
  ['lastIndex', 'index'],
  ['clientWidth', 'clientHeight'],
  ['width', 'height'],
  ['min', 'max'],
  ['start', 'end'],
  ['from', 'to'],
  ['left', 'right'],
  ['first', 'last'],
  ['x', 'y'],
  ['key', 'value'],
  ['MAX_SAFE_INTEGER', 'MIN_SAFE_INTEGER'],
  ['MAX_VALUE', 'MIN_VALUE', 'NEGATIVE_INFINITY', 'POSITIVE_INFINITY'],
];

/** Another property of the same object that the file knows, or a near sibling: `size` for `length`. */
export const property: Operator = {
  name: 'property',
  prior: 0.5,
  on: ['member_expression'],
  *propose(node, file) {
    const [name, object] = [node.child('property'), node.child('object')?.text ?? ''];
    if (name === null || (node.parent?.type === 'call_expression' && node.field === 'function')) return;
    const near = families.find((family) => family.includes(name.text)) ?? [];
    const kind = file.kind(node.child('object') ?? node);
    for (const other of near)
      if (other !== name.text) yield replace(name, other, other === 'size' && (kind === 'array' || kind === 'string') ? 0.05 : 1);
    const same = new Set<string>();
    const others = new Set<string>();
    for (const text of file.texts('member_expression').keys()) {
      const dot = text.lastIndexOf('.');
      const last = text.slice(dot + 1);
      if (!/^\w+$/.test(last) || last === name.text || near.includes(last)) continue;
      (text.slice(0, dot).replace('?', '') === object ? same : others).add(last);
    }
    for (const other of [...same].slice(0, most)) yield replace(name, other, areSiblings(name.text, other) ? 1.5 : 0.5);
    // Of other objects, such as the parameter of another callback.
    for (const other of [...others].filter((text) => !same.has(text)).slice(0, most)) yield replace(name, other, 0.1);
  },
};
