import { maxPlanNodes, type Run } from '@agentfleet/protocol/api';
import type { PlanNode } from './tree.ts';

type Shown = NonNullable<Run['plan']>[number];

const maxIntent = 96;

/** Who is left out first when there are more nodes than the API shows: steps that led nowhere, the oldest first. */
const dispensable = (node: PlanNode): boolean => node.kind === 'Step' && (node.state === 'Dropped' || node.state === 'Failed');

/**
 * The plan for `status.run.plan`: preorder, at most `maxPlanNodes` nodes. Steps that failed give way first, the oldest
 * before the newer; then whatever comes last.
 */
export function planDigest(tree: PlanNode, max: number = maxPlanNodes): readonly Shown[] {
  const all = preorder(tree);
  const spare = all.filter((node) => dispensable(node) && node.children.length === 0).sort((a, b) => serial(a) - serial(b));
  const dropped = new Set(spare.slice(0, Math.max(0, all.length - max)));
  return all
    .filter((node) => !dropped.has(node))
    .slice(0, max)
    .map(shown);
}

/** Steps are numbered as they are tried. */
const serial = ({ id }: PlanNode): number => Number(/\d+$/.exec(id)?.[0] ?? 0);

function preorder(node: PlanNode): PlanNode[] {
  return [node, ...node.children.flatMap(preorder)];
}

function shown({ id, kind, intent, state, p, snapshot, attempts }: PlanNode): Shown {
  return {
    id,
    kind,
    intent: cut(intent),
    state,
    ...(p !== undefined && { p: Math.min(1, Math.max(0, p)).toFixed(3) }),
    ...(snapshot !== undefined && { snapshot }),
    ...(attempts > 0 && { attempts: Math.min(attempts, 1000) }),
  };
}

/** By code points, so that no character is cut in two. */
function cut(text: string): string {
  const points = Array.from(text.replaceAll(/\s+/g, ' ').trim());
  return points.length <= maxIntent ? points.join('') : `${points.slice(0, maxIntent - 1).join('')}…`;
}
