import { replace, type Weighed, weighed } from '../language/forms.ts';
import type { Proposal } from '../language/language.ts';
import type { ScriptFile } from './file.ts';
import { isRead } from './names.ts';
import { type Operator, bracketed, isValue } from './operator.ts';
import { functionOf, calledName, receiverOf, argumentsOf, type SyntaxNode } from './syntax.ts';

const around: Weighed = weighed(
  'Number 0.6',
  'String 0.5',
  'Math.abs 0.3',
  'Math.floor 0.4',
  'Math.round 0.3',
  'Math.ceil 0.2',
  'Boolean 0.15',
  'Object.keys 0.15',
  'Object.values 0.1',
  'Array.from 0.15',
  'new Set 0.2',
  'parseInt 0.1',
);
const after: Weighed = weighed('.trim() 0.3', '.toLowerCase() 0.3', '.length 0.3', '.flat() 0.2', '.toString() 0.1');
/** Kinds that an ending is for. */
const wanted: Readonly<Record<string, string>> = { '.trim()': 'string', '.toLowerCase()': 'string', '.flat()': 'array' };

/** A value of the wrong type: a missing or needless conversion, for one value or for each of a list. */
const convert: Operator = {
  name: 'convert',
  prior: 0.3,
  on: ['identifier', 'call_expression', 'subscript_expression', 'member_expression', 'binary_expression'],
  *propose(node, file) {
    if (node.type === 'call_expression') yield* unconverted(node);
    if (!isValue(node) || (node.type === 'identifier' && !isRead(node))) return;
    const kind = file.kind(node);
    if (node.type === 'binary_expression' && (kind !== 'number' || /^[<>!=]/.test(node.children[1]?.type ?? ''))) return;
    const share = node.type === 'binary_expression' && node.children[1]?.type === '/' ? 2 : 1;
    for (const [name, weight] of around) {
      if (node.text.startsWith(`${name}(`) || (kind === 'number' && name === 'Number')) continue;
      if ((kind === 'array' || kind === 'string') && name.startsWith('Math')) continue;
      yield replace(node, `${name}(${node.text})`, weight * share * (name.startsWith('Math') && kind === 'number' ? 1.5 : 1));
    }
    yield* ended(node, file);
  },
};

function* ended(node: SyntaxNode, file: ScriptFile): Generator<Proposal> {
  const kind = file.kind(node);
  if (kind === 'number' || kind === 'boolean') return;
  for (const [ending, weight] of after) {
    if (node.text.endsWith(ending) || (kind !== 'unknown' && wanted[ending] !== undefined && wanted[ending] !== kind)) continue;
    yield replace(node, `${bracketed(node)}${ending}`, weight);
  }
  if (node.type === 'call_expression' && /^(split|match)$/.test(calledName(node)?.text ?? '')) {
    yield replace(node, `${node.text}.map(Number)`, 2);
    yield replace(node, `${node.text}.map((part) => part.trim())`, 0.8);
    yield replace(node, `${node.text}.filter((part) => part !== '')`, 0.8);
  }
}

/** Takes a conversion away, or gives it the base that it needs. */
function* unconverted(node: SyntaxNode): Generator<Proposal> {
  const [first, ...rest] = argumentsOf(node);
  const callee = node.child('function');
  if (
    first !== undefined &&
    rest.length === 0 &&
    callee !== null &&
    /^(Number|String|Boolean|parseInt|parseFloat|Math\.\w+|Array\.from)$/.test(callee.text)
  )
    yield replace(node, first.text, 0.6);
  const object = receiverOf(node);
  if (object !== null && first === undefined) yield replace(node, object.text, 0.4);
  if (first?.text === 'parseInt' && calledName(node)?.text === 'map') yield replace(first, '(part) => parseInt(part, 10)', 3);
  if (callee?.text === 'parseInt' && rest.length === 0 && first !== undefined) yield replace(first, `${first.text}, 10`, 0.4);
}

/** No plain object: programs call `toString` and `valueOf`, which every object inherits. */
const changing: ReadonlyMap<string, string> = new Map([
  ['sort', 'toSorted'],
  ['reverse', 'toReversed'],
  ['splice', 'toSpliced'],
]);

/** One value under two names, of which one must not change with the other. */
const missingCopy: Operator = {
  name: 'missing-copy',
  prior: 0.5,
  on: ['identifier', 'member_expression', 'subscript_expression', 'call_expression'],
  *propose(node, file) {
    if (node.type === 'call_expression') {
      const [name, object] = [calledName(node), receiverOf(node)];
      const instead = changing.get(name?.text ?? '');
      if (name === null || object === null || instead === undefined || node.parent?.type === 'expression_statement') return;
      yield replace(name, instead, 1);
      if (name.text !== 'splice') yield replace(object, `[...${bracketed(object)}]`, 1.5);
      return;
    }
    const weight = node.type === 'identifier' && !isRead(node) ? 0 : share(node);
    const kind = file.kind(node);
    if (weight === 0 || ['number', 'string', 'boolean', 'function'].includes(kind)) return;
    if (kind !== 'object' && kind !== 'map' && kind !== 'set') yield replace(node, `[...${node.text}]`, weight);
    if (kind !== 'array') yield replace(node, `{ ...${node.text} }`, weight * (kind === 'object' ? 1.2 : 0.7));
    if (kind === 'set' || kind === 'map') yield replace(node, `new ${kind === 'set' ? 'Set' : 'Map'}(${node.text})`, weight * 1.2);
    yield replace(node, `structuredClone(${node.text})`, weight * 0.4);
  },
};

/** Returns how likely a place shares its value: stored, returned or iterated while it changes. */
function share(node: SyntaxNode): number {
  const parent = node.parent;
  if (parent === null) return 0;
  if (parent.type === 'arguments')
    return /^(push|add|set|unshift)$/.test(parent.parent === null ? '' : (calledName(parent.parent)?.text ?? '')) ? 1 : 0.1;
  if (parent.type === 'variable_declarator') return node.field !== 'value' ? 0 : isChanged(parent.child('name')) ? 3 : 0.5;
  if (parent.type === 'assignment_expression') return node.field === 'right' ? 0.8 : 0;
  if (parent.type === 'return_statement') return 0.4;
  if (parent.type === 'for_in_statement') return node.field === 'right' ? (changes(parent, node.text) ? 1 : 0.05) : 0;
  return (parent.type === 'pair' && node.field === 'value') || parent.type === 'array' ? 0.4 : 0;
}

function isChanged(name: SyntaxNode | null): boolean {
  if (name?.type !== 'identifier') return false;
  for (const inner of functionOf(name)?.walk() ?? []) {
    const isWrite = /^((augmented_)?assignment|update)_expression$/.test(inner.type);
    const target = isWrite ? (inner.child('left') ?? inner.child('argument')) : null;
    if (target !== null && /^(member|subscript)_expression$/.test(target.type) && target.child('object')?.text === name.text) return true;
    const isCall = inner.type === 'call_expression' && receiverOf(inner)?.text === name.text;
    if (isCall && /^(push|splice|sort|add|delete|set|unshift|pop|shift|reverse)$/.test(calledName(inner)?.text ?? '')) return true;
  }
  return false;
}

/** Reports whether a loop's body changes the size of the iterated value, or calls a function that may. */
function changes(loop: SyntaxNode, name: string): boolean {
  const body = loop.child('body')?.text ?? '';
  if (body.includes(`${loop.child('left')?.text ?? ''}(`)) return true;
  return ['splice', 'push', 'pop', 'shift', 'unshift', 'delete', 'add'].some((method) => body.includes(`${name}.${method}(`));
}

/** A promise that is not awaited, or several that are awaited as if they were one. */
const missingAwait: Operator = {
  name: 'missing-await',
  prior: 0.5,
  on: ['call_expression', 'identifier', 'await_expression'],
  *propose(node, file) {
    const around = functionOf(node);
    const mayWait = around === null || around.children.some((child) => child.type === 'async');
    if (node.type === 'await_expression') {
      const [value] = node.namedChildren;
      if (value !== undefined) yield replace(node, value.text, 0.1);
      if (value !== undefined && value.type !== 'call_expression') yield replace(value, `Promise.all(${value.text})`, 0.4);
      return;
    }
    if (node.parent?.type === 'await_expression') {
      if (calledName(node)?.text === 'map') yield replace(node, `Promise.all(${node.text})`, 2);
      return;
    }
    if (node.type === 'identifier') {
      if (
        mayWait &&
        around !== null &&
        isValue(node) &&
        /^(for_in_statement|return_statement|variable_declarator)$/.test(node.parent?.type ?? '')
      )
        yield replace(node, `await ${node.text}`, 0.2);
      return;
    }
    const weight = promiseWeight(node, file);
    if (!mayWait || around === null) return;
    const waiting = (text: string): string => (node.field === 'object' ? `(await ${text})` : `await ${text}`);
    yield replace(node, waiting(node.text), weight);
    if (calledName(node)?.text === 'map') yield replace(node, waiting(`Promise.all(${node.text})`), 1);
    // The caller must await the promise of the last step.
    if (node.parent?.type === 'binary_expression') yield replace(node, `(await ${bracketed(node)})`, 0.2);
  },
};

function promiseWeight(call: SyntaxNode, file: ScriptFile): number {
  const name = calledName(call)?.text ?? '';
  if (file.functions.get(name)?.isAsync === true) return 3;
  if (/^(load|fetch|read|write|save|send|get|run|close|wait|json|text)/.test(name)) return 1;
  const parameters = functionOf(call)?.child('parameters')?.text ?? '';
  const object = receiverOf(call)?.text ?? name;
  return parameters.includes(object) ? 0.8 : 0.2;
}

/** Operators of this file. */
export const conversions: readonly Operator[] = [convert, missingCopy, missingAwait];
