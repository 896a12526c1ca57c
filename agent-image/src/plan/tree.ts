import type { Run } from '@agentfleet/protocol/api';

/** Facts that an attempt may rely on. A fact is established only by the node that made it true. */
export type Fact =
  /** The workspace is in place and set up, and the snapshot `initial` is of it. */
  | 'InitialTaken'
  /** Every check ran at snapshot 0 and can decide whether the goal is reached. */
  | 'BaselineJudged'
  /** The tree of the node is a good snapshot, without leftovers of a command. */
  | 'TreeClean'
  /** All checks hold in place. */
  | 'ReachedInPlace'
  /** All checks hold in a fresh container on a restore of the result, and nothing protected changed. */
  | 'Verified';

/** Conditions before a node starts, and those it establishes. */
interface Contract {
  readonly requires: readonly Fact[];
  readonly establishes: readonly Fact[];
}

export type Facts = ReadonlySet<Fact>;

export const noFacts: Facts = new Set();

/** The first fact that is asked for and does not hold; null when all do. */
export function firstUnmet(needed: readonly Fact[], facts: Facts): Fact | null {
  return needed.find((fact) => !facts.has(fact)) ?? null;
}

/** The facts with more of them. */
export function establish(facts: Facts, more: readonly Fact[]): Facts {
  return new Set([...facts, ...more]);
}

type Digest = NonNullable<Run['plan']>;

/** One node of the plan, whose id is unique in the tree. Never changed in place: a change makes a new tree that shares the rest. */
export interface PlanNode extends Readonly<Digest[number]> {
  readonly contract: Contract;
  readonly children: readonly PlanNode[];
}

export type NodeChange = Partial<Pick<PlanNode, 'intent' | 'state'>>;

const subtask = (id: string, intent: string, contract: Contract): PlanNode => ({
  id,
  kind: 'Subtask',
  intent,
  state: 'Pending',
  contract,
  children: [],
});

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
    contract: { requires: [], establishes: ['Verified'] },
    children: [
      subtask('prepare', 'import and set up the workspace', { requires: [], establishes: ['InitialTaken', 'TreeClean'] }),
      subtask('baseline', 'run the checks at snapshot 0', { requires: ['InitialTaken', 'TreeClean'], establishes: ['BaselineJudged'] }),
      subtask('localise', 'find where the failing tests lead', { requires: ['BaselineJudged', 'TreeClean'], establishes: [] }),
      subtask('repair', 'try edits until all checks hold', {
        requires: ['BaselineJudged', 'TreeClean'],
        establishes: ['ReachedInPlace'],
      }),
      subtask('verify', 'run all checks in a fresh container', {
        requires: ['BaselineJudged', 'ReachedInPlace', 'TreeClean'],
        establishes: ['Verified'],
      }),
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
