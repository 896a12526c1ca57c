import { replace, brief, reused, relatives, likeliest, boosts, kindShare, sameArity, firsts, areSiblings } from '../language/forms.ts';
import type { ScriptFile } from './file.ts';
import { boundNames, type Kind, type NameInfo, isRead } from './names.ts';
import { type Operator, isValue } from './operator.ts';
import { types, functionOf, calledName, receiverOf, type SyntaxNode } from './syntax.ts';

/** A name for another one that is in scope there and holds the like. */
const replaceName: Operator = {
  name: 'replace-name',
  prior: 0.8,
  on: ['identifier', 'shorthand_property_identifier'],
  *propose(node, file) {
    if (!isRead(node)) return;
    const names = file.names(node);
    const old = names.find((info) => info.name === node.text);
    const others = names.filter((info) => info.name !== node.text && isSet(info, node));
    yield* likeliest(
      others,
      (info) => compatibility(old?.kind ?? 'unknown', info, node, file) * freshness(info, old, node),
      (info, weight) => replace(node, node.type === 'identifier' ? info.name : `${node.text}: ${info.name}`, weight),
    );
  },
};

/** Reports whether the name has a value at the node: one declared later in the same function does not. */
function isSet(info: NameInfo, node: SyntaxNode): boolean {
  return !info.local || info.boundAt <= node.start;
}

/** An unread name is a sign of a mix-up; one that would become unread is a sign against it. */
function freshness(info: NameInfo, old: NameInfo | undefined, node: SyntaxNode): number {
  const unread = info.local && info.reads === 0 ? boosts.unread : 1;
  const derived = old !== undefined && isDerived(info, old) ? boosts.derived : 1;
  const isUpdate = /^(update|augmented_assignment)_expression$/.test(node.parent?.type ?? '') && node.field !== 'right';
  const fits = !isUpdate ? 1 : info.declared === 'let' || info.declared === 'var' ? 0.5 : 0;
  return unread * derived * fits * repeats(info, node) * (old?.local === true && old.reads <= 1 ? 0.4 : 1);
}

/** `a - a`, `a < a`, `f(a, a)`: seldom meant. */
function repeats(info: NameInfo, node: SyntaxNode): number {
  const isPair = /^(binary_expression|arguments|assignment_expression|subscript_expression)$/.test(node.parent?.type ?? '');
  return isPair && node.parent?.namedChildren.some((other) => other !== node && other.text === info.name) === true ? 0.15 : 1;
}

/** Made from the old one, as a cleaned or extended form: easily forgotten. */
function isDerived(info: NameInfo, old: NameInfo): boolean {
  for (const inner of info.value?.walk() ?? []) if (inner.type === 'identifier' && inner.text === old.name) return true;
  return false;
}

function compatibility(kind: Kind, info: NameInfo, node: SyntaxNode, file: ScriptFile): number {
  const called = node.field === 'function' && node.parent?.type === 'call_expression';
  if (node.field === 'constructor') return 0;
  const siblings = areSiblings(node.text, info.name);
  if (!called && kind === 'function' && info.kind === 'function' && siblings) return 1;
  if (called !== (info.kind === 'function')) return 0;
  if (called)
    return takes(node, info, file) ? (siblings ? boosts.sibling : 1) * (sameArity(file, node.text, info.name) ? 0.8 : 0.2) : boosts.misfit;
  if (node.parent?.type === 'for_in_statement' && ['number', 'boolean'].includes(info.kind)) return 0;
  // A declaration must not refer to itself: `const a = a`.
  if (functionOf(node)?.child('name')?.text === info.name) return 0;
  const near = (info.local ? 1 : siblings ? boosts.sibling : 0.25) * (node.field === 'object' ? 0.5 : 1);
  return near * kindShare(kind, info.kind);
}

/** Reports whether a function of this file takes as many arguments as the call has; imported ones take any. */
function takes(node: SyntaxNode, info: NameInfo, file: ScriptFile): boolean {
  const parameters = file.functions.get(info.name)?.node.child('parameters')?.namedChildren;
  const given = node.parent?.child('arguments')?.namedChildren;
  if (parameters === undefined || given === undefined) return true;
  if (given.some(({ type }) => type === 'spread_element') || parameters.some(isRest)) return true;
  return parameters.filter(isNeeded).length <= given.length && given.length <= parameters.length;
}

/** TypeScript wraps a parameter with its type. */
const isRest = (parameter: SyntaxNode): boolean => parameter.type === 'rest_pattern' || parameter.child('pattern')?.type === 'rest_pattern';

const isNeeded = (parameter: SyntaxNode): boolean =>
  parameter.type !== 'assignment_pattern' && parameter.type !== 'optional_parameter' && parameter.child('value') === null;

const mostProperties = 10;
const propertyFamilies = relatives(`
  length size, lastIndex index, clientWidth clientHeight, width height, min max, start end, from to, left right, first last, x y,
  key value, MAX_SAFE_INTEGER MIN_SAFE_INTEGER, MAX_VALUE MIN_VALUE NEGATIVE_INFINITY POSITIVE_INFINITY
`);

/** Another property of the same object that the file knows, or a near sibling: `size` for `length`. */
const property: Operator = {
  name: 'property',
  prior: 0.5,
  on: ['member_expression'],
  *propose(node, file) {
    const [name, object] = [node.child('property'), node.child('object')?.text ?? ''];
    if (name === null || (node.parent?.type === 'call_expression' && node.field === 'function')) return;
    const near = propertyFamilies(name.text).map(([other]) => other);
    const kind = file.kind(node.child('object') ?? node);
    for (const other of near) yield replace(name, other, other === 'size' && (kind === 'array' || kind === 'string') ? 0.05 : 1);
    const same = new Set<string>();
    const others = new Set<string>();
    for (const text of file.texts('member_expression').keys()) {
      const dot = text.lastIndexOf('.');
      const last = text.slice(dot + 1);
      if (!/^\w+$/.test(last) || last === name.text || near.includes(last)) continue;
      (text.slice(0, dot).replace('?', '') === object ? same : others).add(last);
    }
    for (const other of [...same].slice(0, mostProperties)) yield replace(name, other, areSiblings(name.text, other) ? 1.5 : 0.5);
    // Methods of other objects, such as the parameter of another callback.
    for (const other of [...others].filter((text) => !same.has(text)).slice(0, mostProperties)) yield replace(name, other, 0.1);
  },
};

const methodFamilies = relatives(`
  indexOf lastIndexOf findIndex findLastIndex search, indexOf includes, includes has some, startsWith endsWith includes,
  push unshift concat, pop shift, push add, pop at slice, shift slice, map forEach filter flatMap, find filter findLast findIndex,
  some every, slice splice substring substr toSpliced, min max, floor ceil round trunc, trim trimStart trimEnd, padStart padEnd,
  toLowerCase toUpperCase, replace replaceAll, keys values entries, get has delete, set get add, has hasOwn, reduce reduceRight,
  sort toSorted, reverse toReversed, splice toSpliced, match matchAll test exec, parseInt parseFloat Number, isNaN isFinite isInteger,
  all allSettled any race, getDate getDay, getDate getUTCDate, getDay getUTCDay, getMonth getUTCMonth, getHours getUTCHours,
  getFullYear getUTCFullYear getYear, charAt charCodeAt codePointAt at, flat flatMap, then catch finally,
  encodeURI encodeURIComponent, decodeURI decodeURIComponent, assign create fromEntries, sign abs, log2 log10 log
`);

/** Functions called for their effect, not for their result. */
const acting = /^(push|unshift|pop|shift|splice|sort|reverse|fill|add|delete|set|clear|forEach|assign|then|catch|finally)$/;
/** Functions that are usually called without an argument. */
const bare = /^(pop|shift|trim|trimStart|trimEnd|toLowerCase|toUpperCase|reverse|toReversed)$/;

/** Methods that only one kind of value has. */
const kinds = new Map<string, readonly Kind[]>([
  ['push', ['array']],
  ['unshift', ['array']],
  ['splice', ['array']],
  ['add', ['set']],
  ['has', ['set', 'map']],
  ['some', ['array']],
  ['concat', ['array', 'string']],
  ['substring', ['string']],
  ['substr', ['string']],
  ['includes', ['array', 'string']],
  ['search', ['string']],
]);

/** A near sibling of a method or function: `every` for `some`, `ceil` for `floor`. */
const nearMethod: Operator = {
  name: 'near-method',
  prior: 0.9,
  on: ['call_expression'],
  *propose(node, file) {
    const name = calledName(node);
    if (name === null) return;
    for (const [other, rank] of methodFamilies(name.text))
      yield replace(name, other, (rank === 0 ? 1 : 0.5) * plausibility(other, node, file));
  },
};

/** Lowers the weight of a method that the object cannot have, or that needs a function where there is none. */
function plausibility(method: string, call: SyntaxNode, file: ScriptFile): number {
  const object = receiverOf(call);
  const first = call.child('arguments')?.namedChildren[0];
  const takesFunction = /^(find|some|every|map|forEach|filter|flatMap|reduce|findIndex|findLast|findLastIndex|reduceRight)$/.test(method);
  const given = first === undefined ? 'unknown' : file.kind(first);
  const suits = first === undefined ? 1 : takesFunction === (given === 'function') ? 1 : given === 'unknown' ? 0.3 : 0.1;
  const isDropped = call.parent?.type === 'expression_statement' && call.child('function')?.type === 'member_expression';
  const fits = suits * (isDropped && !acting.test(method) ? 0.1 : 1) * (first !== undefined && bare.test(method) ? 0.1 : 1);
  const wanted = kinds.get(method);
  const kind = object === null ? 'unknown' : file.kind(object);
  return fits * (wanted === undefined || kind === 'unknown' || wanted.includes(kind) ? 1 : 0.1);
}

/** An expression that the function computes elsewhere belongs here too. */
const reuseExpression: Operator = {
  name: 'reuse-expression',
  prior: 0.3,
  on: ['identifier', 'number'],
  *propose(node) {
    const role = node.parent?.type ?? '';
    if (
      !isValue(node) ||
      !/^(return_statement|variable_declarator|arguments|(augmented_)?assignment_expression|binary_expression)$/.test(role)
    )
      return;
    if (node.type === 'identifier' && !isRead(node)) return;
    const texts = firsts(
      functionOf(node),
      (inner) => {
        const right = inner.child('right') ?? inner.child('value');
        if (right === null || !/assignment_expression$|^variable_declarator$/.test(inner.type)) return undefined;
        const own = right.start <= node.start && node.end <= right.end;
        if (own || !/^(call|binary|subscript|member)_expression$/.test(right.type) || right.text.length > 60) return undefined;
        return right.type === 'binary_expression' ? `(${right.text})` : right.text;
      },
      types,
    );
    yield* reused(node, texts.keys());
  },
};

/** A declaration that hides another one, a `var` that all rounds share, a `const` that changes. */
const declaration: Operator = {
  name: 'declaration',
  prior: 0.5,
  on: ['lexical_declaration', 'variable_declaration'],
  *propose(node, file) {
    const [word] = node.children;
    const [declarator] = node.namedChildren;
    if (word === undefined || declarator === undefined) return;
    if (word.type === 'const') yield replace(word, 'let', 0.2);
    if (word.type === 'var') yield replace(word, 'let', 1);
    const value = declarator.child('value');
    const [name] = [...boundNames(declarator.child('name') ?? declarator)];
    if (node.type !== 'lexical_declaration' || value === null || name === undefined || node.namedChildren.length > 1) return;
    const holder = node.ancestor('statement_block', 'for_statement', 'program');
    const outer =
      holder?.parent == null ? [] : file.names(holder.parent).filter((info) => info.name === name.text && info.declared !== 'const');
    if (outer.length === 0) return;
    const end = node.text.endsWith(';') ? ';' : '';
    yield replace(node, `${name.text} = ${value.text}${end}`, 3, `assign to the outer ${brief(name.text)}`);
  },
};

/** Operators of this file. */
export const names: readonly Operator[] = [replaceName, property, nearMethod, reuseExpression, declaration];
