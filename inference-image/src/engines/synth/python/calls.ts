import { replace, weighed, brief, type WeighedTable, withParameter, withOptional, withoutLast } from '../language/forms.ts';
import type { Proposal } from '../language/language.ts';
import type { PythonFile } from './file.ts';
import { isRead } from './names.ts';
import { type Operator, bracketed } from './operator.ts';
import type { SyntaxNode } from '../language/syntax.ts';

/** Optional arguments that change the meaning of a call, by the name of the function. */
const optional: WeighedTable = {
  split: weighed('1 1', "',' 0.1"),
  rsplit: weighed('1 1'),
  replace: weighed('1 0.6'),
  max: weighed('default=0 0.8', 'default=None 0.5', '0 0.5', '1 0.3'),
  min: weighed('default=0 0.8', 'default=None 0.5', '0 0.3'),
  sorted: weighed('reverse=True 1', 'key=len 0.4', 'key=str 0.1', 'key=lambda item: item[1] 0.4'),
  sort: weighed('reverse=True 1', 'key=len 0.4'),
  enumerate: weighed('1 1'),
  pop: weighed('0 1', 'None 0.8'),
  get: weighed('0 1', "'' 0.6", '[] 0.6', 'False 0.3', '{} 0.3', '1 0.3'),
  next: weighed('None 1'),
  getattr: weighed('None 1'),
  round: weighed('2 1', '1 0.8', '3 0.3'),
  int: weighed('16 0.3', '2 0.3', '10 0.1'),
  sum: weighed('0 0.1'),
};

/** A call with an argument too few or one too many. */
const missingArgument: Operator = {
  name: 'missing-argument',
  prior: 0.45,
  on: ['call'],
  *propose(node, file) {
    const callee = node.child('function');
    const list = node.child('arguments');
    if (callee === null || list === null) return;
    const name = callee.type === 'attribute' ? (callee.child('attribute')?.text ?? '') : callee.text;
    yield* withOptional(list, name, optional);
    if (list.type !== 'argument_list') return;
    yield* ownParameters(node, list, name, file);
    yield* withoutLast(list);
  },
};

/** A function of this file has a parameter that the call leaves out: a name of that kind is at hand. */
function* ownParameters(node: SyntaxNode, list: SyntaxNode, name: string, file: PythonFile): Generator<Proposal> {
  const parameters = file.functions.get(name)?.parameters ?? [];
  const given = list.namedChildren.length;
  const visible = new Map(file.names(node).map((info) => [info.name, info]));
  for (const parameter of parameters.slice(given)) {
    const info = visible.get(parameter);
    if (info === undefined || list.text.includes(`${parameter}=`)) continue;
    const key = parameters.indexOf(parameter) === given ? '' : `${parameter}=`;
    yield* withParameter(list, `${key}${parameter}`, info.kind);
  }
}

const mutable = ['list', 'dictionary', 'set'];

/** A default that all calls share: `None`, and a fresh value in the body. */
const mutableDefault: Operator = {
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

/** The bounds of a slice: an end that should count from the start, a bound too much, the wrong end. */
const sliceBounds: Operator = {
  name: 'slice-bounds',
  prior: 0.8,
  on: ['slice', 'subscript'],
  *propose(node) {
    if (node.type === 'subscript') {
      const index = node.child('subscript');
      if (index?.type === 'integer' || index?.type === 'unary_operator') {
        for (const after of ['0', '-1', '1']) if (after !== index.text) yield replace(index, after, 0.4);
      }
      return;
    }
    const colon = node.children.findIndex((child) => child.type === ':');
    if (node.children.filter((child) => child.type === ':').length !== 1) return;
    const from = node.children.slice(0, colon).find((child) => child.named);
    const to = node.children.slice(colon + 1).find((child) => child.named);
    if (from !== undefined && to !== undefined) {
      yield replace(to, `${from.text} + ${bracketed(to)}`, 1);
      yield replace(to, `${bracketed(to)} - ${bracketed(from)}`, 0.3);
      yield replace(node, `${from.text}:`, 0.5);
      yield replace(node, `:${to.text}`, 0.4);
      return;
    }
    const only = from ?? to;
    if (only === undefined) return;
    yield replace(node, from === undefined ? `${only.text}:` : `:${only.text}`, 0.8);
    yield replace(only, only.text.startsWith('-') ? only.text.slice(1) : `-${bracketed(only)}`, 0.5);
  },
};

const around = ['int', 'str', 'float', 'list', 'set', 'sorted', 'len', 'abs', 'tuple', 'round', 'bool', 'reversed'];

/** A value of the wrong type: a missing or needless conversion, for one value or for each of a list. */
const convert: Operator = {
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

/** One value under two names, of which one must not change with the other. */
const missingCopy: Operator = {
  name: 'missing-copy',
  prior: 0.5,
  on: ['identifier', 'attribute', 'subscript'],
  *propose(node, file) {
    const weight = share(node);
    if (weight === 0) return;
    const kind = file.names(node).find((info) => info.name === node.text)?.kind ?? 'unknown';
    if (['number', 'string', 'bool', 'callable'].includes(kind)) return;
    yield replace(node, `${node.text}.copy()`, weight);
    yield replace(node, `list(${node.text})`, weight * (kind === 'list' ? 0.6 : 0.3));
    yield replace(node, `dict(${node.text})`, weight * (kind === 'dict' ? 0.6 : 0.1));
  },
};

/** Returns how likely a place shares its value: stored, returned or iterated while it changes. */
function share(node: SyntaxNode): number {
  const parent = node.parent;
  if (parent === null) return 0;
  if (parent.type === 'argument_list')
    return /\.(append|add|insert|setdefault)$/.test(parent.parent?.child('function')?.text ?? '') ? 1 : 0.1;
  if (parent.type === 'assignment') return node.field === 'right' && parent.child('left')?.type !== 'pattern_list' ? 0.8 : 0;
  if (parent.type === 'return_statement') return 0.4;
  if (parent.type === 'for_statement') return node.field === 'right' ? (changes(parent, node.text) ? 1 : 0.05) : 0;
  return parent.type === 'pair' || parent.type === 'list' || parent.type === 'tuple' ? 0.4 : 0;
}

/** Reports whether a loop's body changes the size of the iterated value. */
function changes(loop: SyntaxNode, name: string): boolean {
  const body = loop.child('body')?.text ?? '';
  return (
    ['remove', 'append', 'pop', 'insert', 'add', 'discard', 'clear'].some((method) => body.includes(`${name}.${method}(`)) ||
    body.includes(`del ${name}[`)
  );
}

/** Operators of this file. */
export const calls: readonly Operator[] = [missingArgument, mutableDefault, sliceBounds, convert, missingCopy];
