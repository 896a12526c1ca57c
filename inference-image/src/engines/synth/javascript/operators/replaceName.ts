import { areSiblings } from '../../language.ts';
import { isRead, type Kind, type NameInfo } from '../names.ts';
import { replace, type Operator, type Proposal } from '../operator.ts';
import type { ScriptFile } from '../file.ts';
import { functionOf, type SyntaxNode } from '../syntax.ts';

const most = 16;
const unreadBoost = 4;
const derivedBoost = 2;
const siblingBoost = 2;
/** A call that would not take what it is given: kept, and last. */
const misfit = 0.03;

/** A name for another one that is in scope there and holds the like. */
export const replaceName: Operator = {
  name: 'replace-name',
  prior: 0.8,
  on: ['identifier', 'shorthand_property_identifier'],
  *propose(node, file) {
    if (!isRead(node)) return;
    const names = file.names(node);
    const old = names.find((info) => info.name === node.text);
    const others = names.filter((info) => info.name !== node.text && isSet(info, node));
    const weighed = others.map((info) => ({
      info,
      weight: compatibility(old?.kind ?? 'unknown', info, node, file) * freshness(info, old, node),
    }));
    weighed.sort((a, b) => b.weight - a.weight);
    for (const { info, weight } of weighed.slice(0, most)) if (weight > 0.02) yield renamed(node, info.name, weight);
  },
};

function renamed(node: SyntaxNode, name: string, weight: number): Proposal {
  return replace(node, node.type === 'identifier' ? name : `${node.text}: ${name}`, weight);
}

/** Holds a value by then: what is declared later in the same function does not. */
function isSet(info: NameInfo, node: SyntaxNode): boolean {
  return !info.local || info.boundAt <= node.start;
}

/** A name that nobody reads is a sign of a mix-up; one that would no longer be read is a sign against it. */
function freshness(info: NameInfo, old: NameInfo | undefined, node: SyntaxNode): number {
  const unread = info.local && info.reads === 0 ? unreadBoost : 1;
  const derived = old !== undefined && isDerived(info, old) ? derivedBoost : 1;
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
  if (called) return takes(node, info, file) ? (siblings ? siblingBoost : 1) * (sameArity(node, info, file) ? 0.8 : 0.2) : misfit;
  if (node.parent?.type === 'for_in_statement' && ['number', 'boolean'].includes(info.kind)) return 0;
  // What holds the node is not what it should be replaced by: `const a = a`.
  if (functionOf(node)?.child('name')?.text === info.name) return 0;
  const near = (info.local ? 1 : siblings ? siblingBoost : 0.25) * (node.field === 'object' ? 0.5 : 1);
  if (kind === info.kind) return near * (kind === 'unknown' ? 0.8 : 1);
  return near * (kind === 'unknown' || info.kind === 'unknown' ? 0.6 : 0.12);
}

function sameArity(node: SyntaxNode, info: NameInfo, file: ScriptFile): boolean {
  const one = file.functions.get(node.text)?.parameters.length;
  return one !== undefined && one === file.functions.get(info.name)?.parameters.length;
}

/** Whether a function of this file takes as many arguments as the call has; what is imported takes any. */
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
