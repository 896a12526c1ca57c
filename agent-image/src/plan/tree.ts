import type { Run } from '@agentfleet/protocol/api';

type Digest = NonNullable<Run['plan']>;

/** One node of the plan, whose id is unique in the tree. Never changed in place: a change makes a new tree that shares the rest. */
export interface PlanNode extends Readonly<Digest[number]> {
  readonly children: readonly PlanNode[];
}

export type NodeChange = Partial<Pick<PlanNode, 'intent' | 'state'>>;

const subtask = (id: string, intent: string): PlanNode => ({ id, kind: 'Subtask', intent, state: 'Pending', children: [] });

/**
 * The plan that every attempt starts with: `g` over `prepare`, `baseline`, `localise`, `repair` and `verify`. Steps are
 * added below `repair` as they are tried.
 */
export function initialPlan(goal: string): PlanNode {
  return {
    id: 'g',
    kind: 'Goal',
    intent: goal,
    state: 'Running',
    children: [
      subtask('prepare', 'import and set up the workspace'),
      subtask('baseline', 'run the checks at snapshot 0'),
      subtask('localise', 'find where the failing tests lead'),
      subtask('repair', 'try edits until all checks hold'),
      subtask('verify', 'run all checks in a fresh container'),
    ],
  };
}

/** The node of an id; undefined when there is none. */
export function findNode(tree: PlanNode, id: string): PlanNode | undefined {
  if (tree.id === id) return tree;
  for (const child of tree.children) {
    const found = findNode(child, id);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the tree with one node changed; the same tree when there is no such node. */
export function changeNode(tree: PlanNode, id: string, change: NodeChange): PlanNode {
  return rewrite(tree, id, (node) => ({ ...node, ...change }));
}

/**
 * The tree with a node below `parent`.
 *
 * @throws Error when the parent is missing or the id is taken: both are faults of the caller
 */
export function addNode(tree: PlanNode, parent: string, node: Omit<PlanNode, 'children'>): PlanNode {
  if (findNode(tree, node.id) !== undefined) throw new Error(`the plan has a node ${node.id} already; choose another id`);
  if (findNode(tree, parent) === undefined) throw new Error(`the plan has no node ${parent} to put ${node.id} under`);
  return rewrite(tree, parent, (found) => ({ ...found, children: [...found.children, { ...node, children: [] }] }));
}

/** Returns the tree of an ended attempt: nothing runs, and unstarted nodes are dropped. */
export function endPlan(tree: PlanNode, running: 'Done' | 'Failed' | 'Dropped'): PlanNode {
  const state = tree.state === 'Running' ? running : tree.state === 'Pending' ? 'Dropped' : tree.state;
  return { ...tree, state, children: tree.children.map((child) => endPlan(child, running)) };
}

function rewrite(tree: PlanNode, id: string, change: (node: PlanNode) => PlanNode): PlanNode {
  if (tree.id === id) return change(tree);
  for (const [at, child] of tree.children.entries()) {
    const changed = rewrite(child, id, change);
    if (changed !== child) return { ...tree, children: tree.children.with(at, changed) };
  }
  return tree;
}

/** The plan for `status.run.plan`, parents first; whoever reports it keeps to the bounds of the API. */
export function planDigest({ id, kind, intent, state, children }: PlanNode): Digest {
  return [{ id, kind, intent: intent.replaceAll(/\s+/g, ' ').trim(), state }, ...children.flatMap(planDigest)];
}
