import { areSiblings } from '../../language.ts';
import type { PythonFile } from '../file.ts';
import { replace, type Operator } from '../operator.ts';
import type { SyntaxNode } from '../syntax.ts';

/** Names that people take for one another. */
const families: readonly (readonly string[])[] = [
  ['append', 'extend', 'insert', 'add'],
  ['append', 'appendleft'],
  ['strip', 'lstrip', 'rstrip'],
  ['find', 'rfind', 'index', 'rindex'],
  ['split', 'rsplit', 'splitlines'],
  ['partition', 'rpartition'],
  ['startswith', 'endswith'],
  ['removeprefix', 'removesuffix'],
  ['lower', 'upper', 'title', 'capitalize', 'casefold'],
  ['isdigit', 'isalpha', 'isalnum', 'isnumeric', 'isspace'],
  ['islower', 'isupper'],
  ['keys', 'values', 'items'],
  ['get', 'setdefault', 'pop'],
  ['pop', 'popleft', 'popitem', 'remove', 'discard'],
  ['union', 'intersection', 'difference', 'symmetric_difference'],
  ['issubset', 'issuperset', 'isdisjoint'],
  ['update', 'intersection_update', 'difference_update'],
  ['ljust', 'rjust', 'center', 'zfill'],
  ['floor', 'ceil', 'trunc'],
  ['search', 'match', 'fullmatch', 'findall'],
  ['min', 'max'],
  ['any', 'all'],
  ['sorted', 'reversed', 'list', 'set'],
  ['int', 'float', 'round', 'str'],
  ['list', 'tuple', 'dict', 'set'],
  ['sum', 'len', 'max', 'min'],
  ['zip', 'enumerate'],
  ['isinstance', 'issubclass'],
  ['heappush', 'heappop'],
  ['bisect_left', 'bisect_right'],
  ['weekday', 'isoweekday'],
];

const siblingWeight = 1.5;

/** Attributes of one module or object that a file need not name to have them, the likelier first. */
const members: readonly (readonly string[])[] = [
  ['ROUND_HALF_UP', 'ROUND_HALF_EVEN', 'ROUND_DOWN', 'ROUND_UP', 'ROUND_FLOOR', 'ROUND_CEILING', 'ROUND_HALF_DOWN'],
  ['ascii_lowercase', 'ascii_uppercase', 'ascii_letters', 'digits'],
  ['stdout', 'stderr'],
  ['start', 'stop'],
];

/** A near sibling of a method or builtin: `lstrip` for `strip`, `any` for `all`, or an attribute used elsewhere. */
export const nearMethod: Operator = {
  name: 'near-method',
  prior: 0.9,
  on: ['call', 'attribute'],
  *propose(node, file) {
    if (node.type === 'call') {
      const callee = node.child('function');
      const name = callee?.type === 'attribute' ? callee.child('attribute') : callee;
      if (name?.type !== 'identifier') return;
      const family = families.filter((names) => names.includes(name.text));
      for (const [rank, names] of family.entries()) {
        for (const other of names) {
          const weight = other === name.text ? 0 : (rank === 0 ? 1 : 0.4) * plausibility(other, callee, file);
          if (weight > 0) yield replace(name, other, weight);
        }
      }
      return;
    }
    const name = node.child('attribute');
    if (name === null || (node.parent?.type === 'call' && node.field === 'function')) return;
    const named = new Set(attributesOf(file.texts('attribute').keys(), node.child('object')?.text ?? ''));
    for (const other of named) if (other !== name.text) yield replace(name, other, areSiblings(name.text, other) ? siblingWeight : 0.5);
    const family = members.find((one) => one.includes(name.text)) ?? [];
    for (const [rank, other] of family.entries())
      if (other !== name.text && !named.has(other)) yield replace(name, other, siblingWeight / (1 + rank));
  },
};

/** Methods that only one kind of value has. */
const kinds = new Map<string, string>([
  ...['append', 'extend', 'insert'].map((name): [string, string] => [name, 'list']),
  ...['add', 'discard', 'union'].map((name): [string, string] => [name, 'set']),
  ...['keys', 'values', 'items', 'setdefault', 'popitem'].map((name): [string, string] => [name, 'dict']),
]);

/** Less for a method that the object cannot have, and for `insert`, which takes an argument more. */
function plausibility(method: string, callee: SyntaxNode | null, file: PythonFile): number {
  const object = callee?.type === 'attribute' ? callee.child('object') : null;
  if (object === null) return 1;
  const kind = file.names(object).find((info) => info.name === object.text)?.kind ?? 'unknown';
  const wanted = kinds.get(method);
  const fits = wanted === undefined || kind === 'unknown' || kind === wanted ? 1 : 0.1;
  return method === 'insert' ? fits * 0.3 : fits;
}

/** Attributes that the file reads from the same object. */
function* attributesOf(attributes: Iterable<string>, object: string): Generator<string> {
  for (const text of attributes) {
    const dot = text.lastIndexOf('.');
    if (text.slice(0, dot) === object && /^\w+$/.test(text.slice(dot + 1))) yield text.slice(dot + 1);
  }
}
