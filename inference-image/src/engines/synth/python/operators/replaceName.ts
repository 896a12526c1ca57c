import { areSiblings } from '../../language.ts';
import { isRead, type Kind, type NameInfo } from '../names.ts';
import { replace, type Operator } from '../operator.ts';
import type { PythonFile } from '../file.ts';
import { functionOf, type SyntaxNode } from '../syntax.ts';

const most = 16;
const unreadBoost = 4;
const derivedBoost = 2;
const siblingBoost = 2;
/** A call that would not take what it is given: kept, and last. */
const misfit = 0.03;

/** A name for another one that is visible there and holds the like. */
export const replaceName: Operator = {
  name: 'replace-name',
  prior: 0.8,
  on: ['identifier'],
  *propose(node, file) {
    if (!isRead(node) && !isStore(node)) return;
    const names = file.names(node);
    const kind = names.find((info) => info.name === node.text)?.kind ?? 'unknown';
    const others = names.filter((info) => info.name !== node.text && isVisible(info, node));
    const weighed = others.map((info) => ({
      info,
      weight: compatibility(kind, info, node, file) * (isRead(node) ? 1 : 0.3) * freshness(info, names, node),
    }));
    weighed.sort((a, b) => b.weight - a.weight);
    for (const { info, weight } of weighed.slice(0, most)) if (weight > 0.02) yield replace(node, info.name, weight);
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

/** A name that nobody reads is a sign of a mix-up; one that would no longer be read is a sign against it. */
function freshness(info: NameInfo, names: readonly NameInfo[], node: SyntaxNode): number {
  const old = names.find((known) => known.name === node.text);
  const unread = info.local && info.reads === 0 ? unreadBoost : 1;
  const late = info.boundAt > node.start ? 0.4 : 1;
  const derived = old !== undefined && isDerived(info, old, node) ? derivedBoost : 1;
  return unread * derived * late * (old?.local === true && old.reads <= 1 ? 0.4 : 1);
}

/** Made from the old one, as a cleaned or extended form: easily forgotten. */
function isDerived(info: NameInfo, old: NameInfo, node: SyntaxNode): boolean {
  for (const inner of functionOf(node)?.walk() ?? []) {
    if (inner.type !== 'assignment' || inner.child('left')?.text !== info.name) continue;
    for (const read of inner.child('right')?.walk() ?? []) if (read.type === 'identifier' && read.text === old.name) return true;
  }
  return false;
}

function compatibility(kind: Kind, info: NameInfo, node: SyntaxNode, file: PythonFile): number {
  const called = node.parent?.type === 'call' && node.field === 'function';
  const siblings = areSiblings(node.text, info.name);
  const boost = siblings ? siblingBoost : 1;
  if (called && info.kind === 'callable') return takes(node, info, file) ? boost * (sameArity(node, info, file) ? 0.8 : 0.2) : misfit;
  if (!called && kind === 'callable' && info.kind === 'callable' && siblings) return 1;
  if (called || info.kind === 'callable') return 0;
  if (kind !== 'callable' && isIterated(node) && ['number', 'bool'].includes(info.kind)) return 0;
  const near = info.local ? 1 : siblings ? siblingBoost : 0.25;
  if (kind === info.kind) return near * (kind === 'unknown' ? 0.8 : 1);
  return near * (kind === 'unknown' || info.kind === 'unknown' ? 0.6 : 0.12);
}

function isIterated(node: SyntaxNode): boolean {
  return node.field === 'right' && ['for_statement', 'for_in_clause'].includes(node.parent?.type ?? '');
}

function sameArity(node: SyntaxNode, info: NameInfo, file: PythonFile): boolean {
  const one = file.functions.get(node.text)?.parameters.length;
  return one !== undefined && one === file.functions.get(info.name)?.parameters.length;
}

/** Whether a function of this file takes as many arguments as the call has; what is imported takes any. */
function takes(node: SyntaxNode, info: NameInfo, file: PythonFile): boolean {
  const parameters = file.functions.get(info.name)?.node.child('parameters')?.namedChildren;
  const given = node.parent?.child('arguments')?.namedChildren;
  if (parameters === undefined || given === undefined) return true;
  if ([...parameters, ...given].some(({ type }) => /splat|keyword/.test(type))) return true;
  const own = parameters.filter(({ text }) => text !== 'self' && text !== 'cls');
  const needed = own.filter(({ type }) => !type.includes('default')).length;
  return needed <= given.length && given.length <= own.length;
}
