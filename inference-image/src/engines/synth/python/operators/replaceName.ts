import { isRead, type Kind, type NameInfo } from '../names.ts';
import { replace, type Operator } from '../operator.ts';
import type { PythonFile } from '../file.ts';
import { functionOf, type SyntaxNode } from '../syntax.ts';

const most = 16;

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
    const weighed = others.map((info) => ({ info, weight: compatibility(kind, info, node, file) * (isRead(node) ? 1 : 0.3) }));
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
  return info.boundAt < node.start || (loop !== null && info.boundAt < loop.end && info.boundAt > start);
}

function compatibility(kind: Kind, info: NameInfo, node: SyntaxNode, file: PythonFile): number {
  const called = node.parent?.type === 'call' && node.field === 'function';
  if (called !== (info.kind === 'callable')) return 0;
  if (called) return sameArity(node, info, file) ? 0.8 : 0.2;
  const near = info.local ? 1 : 0.25;
  if (kind === info.kind) return near * (kind === 'unknown' ? 0.8 : 1);
  return near * (kind === 'unknown' || info.kind === 'unknown' ? 0.6 : 0.12);
}

function sameArity(node: SyntaxNode, info: NameInfo, file: PythonFile): boolean {
  const one = file.functions.get(node.text)?.parameters.length;
  return one !== undefined && one === file.functions.get(info.name)?.parameters.length;
}
