import type { Run } from '@agentfleet/protocol/api';

type Shown = NonNullable<Run['plan']>[number];
export type NodeChange = Partial<Pick<Shown, 'intent' | 'state'>>;
type Node = Shown & { readonly children: Node[] };

const subtasks = {
  prepare: 'import and set up the workspace',
  baseline: 'run the checks at snapshot 0',
  localise: 'find where the failing tests lead',
  repair: 'try edits until all checks hold',
  verify: 'run all checks in a fresh container',
};

/** The plan of an attempt: `g`, the goal, over its subtasks. Steps are added below `repair` as they are tried. */
export class Plan {
  readonly #nodes = new Map<string, Node>();

  constructor(goal: string) {
    this.#nodes.set('g', { id: 'g', kind: 'Goal', intent: goal, state: 'Running', children: [] });
    for (const [id, intent] of Object.entries(subtasks)) this.add('g', { id, kind: 'Subtask', intent, state: 'Pending' });
  }

  /** @throws Error when the parent is missing or the id is taken: both are faults of the caller */
  add(parent: string, node: Shown): void {
    const above = this.#nodes.get(parent);
    if (above === undefined || this.#nodes.has(node.id)) throw new Error(`the plan has ${node.id} already, or no node ${parent}`);
    const added = { ...node, children: [] };
    above.children.push(added);
    this.#nodes.set(node.id, added);
  }

  /** Changes a node where it is there. */
  change(id: string, change: NodeChange): void {
    Object.assign(this.#nodes.get(id) ?? {}, change);
  }

  /** Ends an attempt: nothing runs, and unstarted nodes are dropped. */
  end(running: 'Done' | 'Failed' | 'Dropped'): void {
    for (const node of this.#nodes.values()) {
      if (node.state === 'Running') node.state = running;
      if (node.state === 'Pending') node.state = 'Dropped';
    }
  }

  /** All nodes, a parent before its children; `trim` fits them into `status.run.plan`. */
  get shown(): Shown[] {
    const below = ({ children, ...node }: Node): Shown[] => [
      { ...node, intent: node.intent.replaceAll(/\s+/g, ' ').trim() },
      ...children.flatMap(below),
    ];
    return [...this.#nodes.values()].slice(0, 1).flatMap(below);
  }
}
