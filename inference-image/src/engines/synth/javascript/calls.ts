import {
  replace,
  type Weighed,
  weighed,
  brief,
  type WeighedTable,
  exchange,
  withArgument,
  withParameter,
  withOptional,
  withoutLast,
} from '../language/forms.ts';
import type { Proposal } from '../language/language.ts';
import type { ScriptFile } from './file.ts';
import { type Operator, bracketed } from './operator.ts';
import { signOf, calledName, receiverOf, argumentsOf, type SyntaxNode } from './syntax.ts';

/** Optional arguments that change the meaning of a call, by the name of the function. */
const optional: WeighedTable = {
  split: weighed("'' 0.4", "',' 0.3", "' ' 0.2", '2 0.2'),
  join: weighed("'' 1", "',' 0.3", "' ' 0.4", "', ' 0.3"),
  reduce: weighed('0 1', '[] 0.4', '{} 0.4', "'' 0.3", '1 0.3'),
  parseInt: weighed('10 1', '16 0.2', '2 0.2'),
  max: weighed('0 1', '1 0.4'),
  min: weighed('0 0.4', '1 0.3'),
  flat: weighed('Infinity 1', '2 0.3'),
  padStart: weighed("'0' 3"),
  padEnd: weighed("' ' 0.2", "'0' 0.5"),
  toFixed: weighed('2 1', '1 0.3'),
  slice: weighed('0, -1 0.3', '1 0.4'),
  splice: weighed('1 1'),
  toString: weighed('16 0.5', '2 0.5', '36 0.2'),
  stringify: weighed('null, 2 0.5'),
  fill: weighed('0 1'),
  indexOf: weighed('1 0.1'),
  Error: weighed('{ cause: error } 0.1'),
};

/** A call with an argument too few or one too many. */
const missingArgument: Operator = {
  name: 'missing-argument',
  prior: 0.45,
  on: ['call_expression'],
  *propose(node, file) {
    const [name, list] = [calledName(node), node.child('arguments')];
    if (name === null || list?.type !== 'arguments') return;
    yield* withOptional(list, name.text, optional);
    yield* ownParameters(node, list, file.functions.get(name.text)?.parameters ?? [], file);
    yield* withoutLast(list);
  },
};

/** A function of this file has a parameter that the call leaves out: a name of that kind is at hand. */
function* ownParameters(node: SyntaxNode, list: SyntaxNode, parameters: readonly string[], file: ScriptFile): Generator<Proposal> {
  const given = list.namedChildren.length;
  const next = parameters[given];
  if (next === undefined || next === '') return;
  const info = file.names(node).find((known) => known.name === next);
  if (info === undefined) {
    for (const other of file.locals(node).slice(0, 6)) yield withArgument(list, other.name, 0.3);
    return;
  }
  yield* withParameter(list, next, info.kind);
}

const byKind: Readonly<Record<string, readonly string[]>> = {
  number: ['0', '1'],
  string: ["''"],
  array: ['[]'],
  object: ['{}'],
  boolean: ['false', 'true'],
  unknown: ['0', '[]', '{}', "''", '1', 'false'],
};

/** A parameter that callers leave out, or a member of one, has no default, or a wrong one. */
const defaultParameter: Operator = {
  name: 'default-parameter',
  prior: 0.4,
  on: ['formal_parameters', 'object_pattern'],
  *propose(node, file) {
    for (const child of node.namedChildren) yield* defaults(child, node, file);
  },
};

function* defaults(child: SyntaxNode, holder: SyntaxNode, file: ScriptFile): Generator<Proposal> {
  const pattern = child.child('pattern') ?? child;
  const isMember = child.type === 'shorthand_property_identifier_pattern';
  // A type stays between the name and the default.
  if (child.child('value') !== null || child.type === 'optional_parameter' || pattern.type === 'rest_pattern') return;
  if (pattern.type === 'object_pattern' && holder.type === 'formal_parameters') {
    yield withDefault(child, '{}', 1);
    return;
  }
  if (!isMember && pattern.type !== 'identifier') return;
  const inside = holder.parent?.child('body') ?? holder;
  const kind = file.names(inside).find((info) => info.name === pattern.text)?.kind ?? 'unknown';
  for (const [rank, value] of (byKind[kind] ?? ['null']).entries()) yield withDefault(child, value, 0.8 / (1 + rank));
}

function withDefault(child: SyntaxNode, value: string, weight: number): Proposal {
  return replace(child, `${child.text} = ${value}`, weight, `let ${brief(child.text)} be \`${value}\` when it is left out`);
}

/** The bounds of `slice`, `substring` or `splice`, and the index of an element. */
const sliceBounds: Operator = {
  name: 'slice-bounds',
  prior: 0.8,
  on: ['call_expression', 'subscript_expression'],
  *propose(node) {
    if (node.type === 'subscript_expression') {
      const [object, index] = [node.child('object'), node.child('index')];
      if (object === null || index === null) return;
      if (index.type === 'number') yield* ['0', '1'].filter((after) => after !== index.text).map((after) => replace(index, after, 0.4));
      if (index.text === `${object.text}.length`) yield replace(index, `${index.text} - 1`, 2);
      if (index.type === 'number' || index.type === 'unary_expression')
        yield replace(node, `${object.text}.at(-1)`, index.text === '-1' ? 3 : 0.4);
      return;
    }
    const list = node.child('arguments');
    const method = calledName(node)?.text ?? '';
    if (list === null || !/^(slice|substring|substr|splice|at)$/.test(method)) return;
    const [from, to] = argumentsOf(node);
    if (from !== undefined && to !== undefined) {
      // An end that counts from the start is the slip in `slice(at, size)`.
      const isCount = from.type !== 'number' && !to.text.includes(from.text);
      yield replace(to, `${from.text} + ${bracketed(to)}`, isCount ? 3 : 0.1);
      yield replace(to, `${bracketed(to)} - ${bracketed(from)}`, 0.3);
      yield replace(list, `(${from.text})`, 0.5);
      yield replace(list, `(${to.text})`, 0.3);
      return;
    }
    if (from === undefined) return;
    yield replace(list, `(0, ${from.text})`, 0.8);
    yield replace(from, from.text.startsWith('-') ? from.text.slice(1) : `-${bracketed(from)}`, 0.6);
    if (method === 'splice') yield replace(list, `(${from.text}, 1)`, 1.5);
    if (receiverOf(node) !== null && method === 'slice') yield replace(list, `(${from.text}, -1)`, 0.3);
  },
};

const comparators: Weighed = weighed(
  '(a, b) => a - b 2',
  '(a, b) => b - a 1.2',
  '(a, b) => a.localeCompare(b) 0.2',
  '(a, b) => b.localeCompare(a) 0.1',
);

/** `sort` orders texts unless it is given a comparator, and a comparator that answers true or false does not order. */
const sortComparator: Operator = {
  name: 'sort-comparator',
  prior: 0.8,
  on: ['call_expression'],
  *propose(node) {
    if (!/^(sort|toSorted)$/.test(calledName(node)?.text ?? '')) return;
    const [comparator] = argumentsOf(node);
    const list = node.child('arguments');
    if (list === null) return;
    if (comparator === undefined) for (const [text, weight] of comparators) yield replace(list, `(${text})`, weight);
    else yield* comparatorsLike(comparator);
  },
};

function* comparatorsLike(comparator: SyntaxNode): Generator<Proposal> {
  const body = comparator.type === 'arrow_function' ? comparator.child('body') : null;
  const names = (comparator.child('parameters')?.namedChildren ?? []).map((parameter) => parameter.text);
  const [one, other] = names;
  if (body === null || one === undefined || other === undefined) return;
  const parts = body.type === 'binary_expression' ? [body.child('left')?.text ?? '', body.child('right')?.text ?? ''] : [];
  const [left, right] = parts;
  const sign = signOf(body);
  if (left !== undefined && right !== undefined && /^[<>]=?$/.test(sign)) {
    const [less, more] = sign.startsWith('<') ? [left, right] : [right, left];
    yield replace(body, `${less} - ${more}`, 0.6);
    yield replace(body, `${more} - ${less}`, 1);
    yield replace(body, `${more} < ${less} ? -1 : ${more} > ${less} ? 1 : 0`, 0.5);
  }
  if (left !== undefined && right !== undefined && sign === '-') {
    yield replace(body, `${right} - ${left}`, 1);
    yield replace(body, `${left}.localeCompare(${right})`, 0.5);
  }
  yield replace(body, `-(${body.text})`, 0.3);
}

/** A list where its elements are meant, or the other way round: `Math.max(...list)`, `all.push(...part)`. */
const spread: Operator = {
  name: 'spread',
  prior: 0.4,
  on: ['arguments', 'array', 'spread_element', 'object'],
  *propose(node, file) {
    if (node.type === 'spread_element') {
      const [value] = node.namedChildren;
      if (value !== undefined && node.parent?.type !== 'object') yield replace(node, value.text, 0.5);
      return;
    }
    if (node.type === 'object') {
      // Later members override earlier ones: proposes another order of merging.
      const parts = node.namedChildren;
      for (const [at, part] of parts.entries()) {
        const next = parts[at + 1];
        if (next === undefined || (part.type !== 'spread_element' && next.type !== 'spread_element')) continue;
        yield exchange(part, next, 2, 'let the other member win');
      }
      return;
    }
    const call = node.type === 'arguments' ? node.parent : null;
    const name = call === null ? '' : (calledName(call)?.text ?? '');
    for (const item of node.namedChildren) {
      if (!/^(identifier|call_expression|member_expression)$/.test(item.type)) continue;
      const kind = file.kind(item);
      if (kind === 'number' || kind === 'string' || kind === 'function' || kind === 'boolean') continue;
      const likely = /^(max|min|push|unshift|concat)$/.test(name) ? 2 : node.type === 'array' ? 0.6 : 0.1;
      yield replace(item, `...${bracketed(item)}`, likely);
    }
  },
};

/** A regular expression that finds too little or too much: its flags, its ends, its repeats. */
const pattern: Operator = {
  name: 'pattern',
  prior: 0.6,
  on: ['regex'],
  *propose(node) {
    const close = node.text.lastIndexOf('/');
    const [body, flags] = [node.text.slice(1, close), node.text.slice(close + 1)];
    const made = (text: string, letters: string, weight: number): Proposal => replace(node, `/${text}/${letters}`, weight);
    yield flags.includes('g') ? made(body, flags.replace('g', ''), 0.5) : made(body, `g${flags}`, 1.5);
    yield flags.includes('i') ? made(body, flags.replace('i', ''), 0.3) : made(body, `${flags}i`, 0.8);
    if (!flags.includes('m') && /[$^]/.test(body)) yield made(body, `${flags}m`, 0.2);
    if (!body.startsWith('^')) yield made(`^${body}`, flags, 0.5);
    if (!body.endsWith('$')) yield made(`${body}$`, flags, 0.5);
    if (!body.startsWith('^') && !body.endsWith('$')) yield made(`^${body}$`, flags, 0.6);
    for (const { 0: part, index } of body.matchAll(/(?:\\[dwsDWS]|\])(?![*+?{])/g)) {
      const at = index + part.length;
      yield made(`${body.slice(0, at)}+${body.slice(at)}`, flags, 1);
      yield made(`${body.slice(0, at)}*${body.slice(at)}`, flags, 0.3);
    }
    for (const { index } of body.matchAll(/(?<!\\)[*+](?!\?)/g)) {
      yield made(`${body.slice(0, index + 1)}?${body.slice(index + 1)}`, flags, 0.5);
      yield made(`${body.slice(0, index)}${body[index] === '*' ? '+' : '*'}${body.slice(index + 1)}`, flags, 0.5);
    }
    for (const { index } of body.matchAll(/(?<!\\)\.(?![*+?{])/g)) yield made(`${body.slice(0, index)}\\${body.slice(index)}`, flags, 0.6);
  },
};

/** A property of a possibly absent value: `a?.b`. */
const optionalChain: Operator = {
  name: 'optional-chain',
  prior: 0.15,
  on: ['member_expression', 'subscript_expression'],
  *propose(node) {
    const object = node.child('object');
    if (object === null || /^(this|super)$/.test(object.type) || node.children.some((child) => child.type === 'optional_chain')) return;
    const isTarget = node.parent?.type.endsWith('assignment_expression') === true && node.field === 'left';
    const isGlobal = /^[A-Z]/.test(object.text);
    if (isTarget || isGlobal) return;
    const rest = node.text.slice(object.text.length);
    const weight = /^(call|subscript|member)_expression$/.test(object.type) ? 1 : 0.6;
    yield replace(node, `${object.text}?.${rest.replace(/^\s*\./, '')}`, weight);
  },
};

/** Operators of this file. */
export const calls: readonly Operator[] = [missingArgument, defaultParameter, sliceBounds, sortComparator, spread, pattern, optionalChain];
