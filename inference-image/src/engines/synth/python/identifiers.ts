import { replace, reused, relatives, likeliest, boosts, kindShare, sameArity, firsts, areSiblings, named } from '../language/forms.ts';
import type { PythonFile } from './file.ts';
import { type Kind, type NameInfo, isRead, functionOf } from './names.ts';
import type { Operator } from './operator.ts';
import type { SyntaxNode } from '../language/syntax.ts';

/** A name for another one that is visible there and holds the like. */
const replaceName: Operator = {
  name: 'replace-name',
  prior: 0.8,
  on: ['identifier'],
  *propose(node, file) {
    if (!isRead(node) && !isStore(node)) return;
    const names = file.names(node);
    const old = names.find((info) => info.name === node.text);
    const kind = old?.kind ?? 'unknown';
    const others = names.filter((info) => info.name !== node.text && isVisible(info, node));
    const share = isRead(node) ? 1 : 0.3;
    yield* likeliest(
      others,
      (info) => compatibility(kind, info, node, file) * share * freshness(info, old, node, file),
      (info, weight) => replace(node, info.name, weight),
    );
  },
};

/** Targets of updates, as in `total += n`; first bindings stay. */
function isStore(node: SyntaxNode): boolean {
  return node.parent?.type === 'augmented_assignment' && node.field === 'left';
}

function isVisible(info: NameInfo, node: SyntaxNode): boolean {
  if (!info.local) return true;
  const loop = node.ancestor('for_statement', 'while_statement');
  const start = functionOf(node)?.start ?? 0;
  return info.boundAt <= node.start || (loop !== null && info.boundAt < loop.end && info.boundAt > start && loop.child('right') !== node);
}

/** An unread name is a sign of a mix-up; one that would become unread is a sign against it. */
function freshness(info: NameInfo, old: NameInfo | undefined, node: SyntaxNode, file: PythonFile): number {
  const unread = info.local && info.reads === 0 ? boosts.unread : 1;
  const late = info.boundAt > node.start ? 0.4 : 1;
  const derived = old !== undefined && isDerived(info, old, node, file) ? boosts.derived : 1;
  return unread * derived * late * (old?.local === true && old.reads <= 1 ? 0.4 : 1);
}

/** Made from the old one, as a cleaned or extended form: easily forgotten. */
function isDerived(info: NameInfo, old: NameInfo, node: SyntaxNode, file: PythonFile): boolean {
  const scope = functionOf(node);
  return scope !== null && file.sources(scope).get(info.name)?.has(old.name) === true;
}

function compatibility(kind: Kind, info: NameInfo, node: SyntaxNode, file: PythonFile): number {
  const called = node.parent?.type === 'call' && node.field === 'function';
  const siblings = areSiblings(node.text, info.name);
  const boost = siblings ? boosts.sibling : 1;
  if (called && info.kind === 'callable')
    return takes(node, info, file) ? boost * (sameArity(file, node.text, info.name) ? 0.8 : 0.2) : boosts.misfit;
  if (!called && kind === 'callable' && info.kind === 'callable' && siblings) return 1;
  if (called || info.kind === 'callable') return 0;
  if (kind !== 'callable' && isIterated(node) && ['number', 'bool'].includes(info.kind)) return 0;
  const near = info.local ? 1 : siblings ? boosts.sibling : 0.25;
  return near * kindShare(kind, info.kind);
}

function isIterated(node: SyntaxNode): boolean {
  return node.field === 'right' && ['for_statement', 'for_in_clause'].includes(node.parent?.type ?? '');
}

/** Reports whether a function of this file takes as many arguments as the call has; imported ones take any. */
function takes(node: SyntaxNode, info: NameInfo, file: PythonFile): boolean {
  const parameters = file.functions.get(info.name)?.node.child('parameters')?.namedChildren;
  const given = node.parent?.child('arguments')?.namedChildren;
  if (parameters === undefined || given === undefined) return true;
  if ([...parameters, ...given].some(({ type }) => /splat|keyword/.test(type))) return true;
  const own = parameters.filter(({ text }) => text !== 'self' && text !== 'cls');
  const needed = own.filter(({ type }) => !type.includes('default')).length;
  return needed <= given.length && given.length <= own.length;
}

const families = relatives(`
  append extend insert add, append appendleft, strip lstrip rstrip, find rfind index rindex, split rsplit splitlines,
  partition rpartition, startswith endswith, removeprefix removesuffix, lower upper title capitalize casefold,
  isdigit isalpha isalnum isnumeric isspace, islower isupper, keys values items, get setdefault pop,
  pop popleft popitem remove discard, union intersection difference symmetric_difference, issubset issuperset isdisjoint,
  update intersection_update difference_update, ljust rjust center zfill, floor ceil trunc, search match fullmatch findall, min max,
  any all, sorted reversed list set, int float round str, list tuple dict set, sum len max min, zip enumerate, isinstance issubclass,
  heappush heappop, bisect_left bisect_right, weekday isoweekday
`);

const siblingWeight = 1.5;

/** Attributes of one module or object that a file need not name to have them, the likelier first. */
const members = relatives(`
  ROUND_HALF_UP ROUND_HALF_EVEN ROUND_DOWN ROUND_UP ROUND_FLOOR ROUND_CEILING ROUND_HALF_DOWN,
  ascii_lowercase ascii_uppercase ascii_letters digits, stdout stderr, start stop
`);

/** A near sibling of a method or builtin: `lstrip` for `strip`, `any` for `all`, or an attribute used elsewhere. */
const nearMethod: Operator = {
  name: 'near-method',
  prior: 0.9,
  on: ['call', 'attribute'],
  *propose(node, file) {
    if (node.type === 'call') {
      const callee = node.child('function');
      const name = callee?.type === 'attribute' ? callee.child('attribute') : callee;
      if (name?.type !== 'identifier') return;
      for (const [other, rank] of families(name.text))
        yield replace(name, other, (rank === 0 ? 1 : 0.4) * plausibility(other, callee, file));
      return;
    }
    const name = node.child('attribute');
    if (name === null || (node.parent?.type === 'call' && node.field === 'function')) return;
    const known = new Set(attributesOf(file.texts('attribute').keys(), node.child('object')?.text ?? ''));
    for (const other of known) if (other !== name.text) yield replace(name, other, areSiblings(name.text, other) ? siblingWeight : 0.5);
    for (const [other, , at] of members(name.text)) if (!known.has(other)) yield replace(name, other, siblingWeight / (1 + at));
  },
};

/** Methods that only one kind of value has. */
const kinds = new Map([
  ...named('list', 'append extend insert'),
  ...named('set', 'add discard union'),
  ...named('dict', 'keys values items setdefault popitem'),
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

/** An expression that the function computes elsewhere belongs here too. */
const reuseExpression: Operator = {
  name: 'reuse-expression',
  prior: 0.3,
  on: ['identifier', 'integer'],
  *propose(node) {
    const role = node.parent?.type ?? '';
    if (!['return_statement', 'assignment', 'argument_list', 'augmented_assignment', 'comparison_operator'].includes(role)) return;
    if (node.type === 'identifier' && !isRead(node)) return;
    if (role === 'assignment' && node.field !== 'right') return;
    const texts = firsts(functionOf(node), (inner) => {
      if (inner.type !== 'assignment' && inner.type !== 'augmented_assignment') return undefined;
      const right = inner.child('right');
      const own = right !== null && right.start <= node.start && node.end <= right.end;
      return right === null || own || !/^(call|binary_operator|subscript|attribute)$/.test(right.type) || right.text.length > 60
        ? undefined
        : right.text;
    });
    yield* reused(node, texts.keys());
  },
};

/** Operators of this file. */
export const names: readonly Operator[] = [replaceName, nearMethod, reuseExpression];
