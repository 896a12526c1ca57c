import type { Noted } from './notes.ts';
import { SearchNode, stateAfter } from './node.ts';
import type { Start } from './start.ts';

/**
 * The trees that the search may go on from. Rebuilt from the event log, so that a worker that takes over tries nothing
 * twice and loses no progress.
 */
export class Frontier {
  readonly #nodes = new Map<string, SearchNode>();
  readonly root: SearchNode;

  constructor({ snapshot: { id, manifestDigest }, passing, proofs }: Start, noted: Noted) {
    this.root = this.#add(new SearchNode({ state: manifestDigest, parent: null, planId: 'repair', edits: [], snapshot: id, passing }));
    this.root.proofs = proofs;
    for (const { parent, state, candidate, edits, snapshot, passing } of noted.accepted) {
      const above = this.#nodes.get(parent);
      // A name that does not follow from its parent is not ours.
      if (above === undefined || this.#nodes.has(state) || stateAfter(parent, candidate) !== state) continue;
      this.#add(new SearchNode({ state, parent: above, planId: 'repair', edits, snapshot, passing: new Set(passing) }));
    }
    for (const { state, id, step, result, facts } of noted.tried) {
      const node = this.#nodes.get(state);
      // What held in place and was not refused in a fresh container after it was cut off before that: it is found again.
      if (node === undefined || result === 'Reached') continue;
      node.tried.add(id);
      if (facts === undefined) continue;
      node.reach(facts.expert, step);
      this.#nodes.get(stateAfter(state, id))?.reach(facts.expert, step + 1);
    }
  }

  #add(node: SearchNode): SearchNode {
    this.#nodes.set(node.state, node);
    return node;
  }

  /** A node below another one. */
  grow(init: ConstructorParameters<typeof SearchNode>[0]): SearchNode {
    return this.#nodes.get(init.state) ?? this.#add(new SearchNode(init));
  }

  /** Where to go on: the most tests that pass, then the fewest edits; null when all are exhausted. */
  best(): SearchNode | null {
    const open = [...this.#nodes.values()].filter(({ exhausted }) => !exhausted);
    const [best] = open.sort((a, b) => b.passing.size - a.passing.size || a.depth - b.depth);
    return best ?? null;
  }

  /** The node that came furthest, exhausted or not. */
  furthest(): SearchNode {
    const [best] = [...this.#nodes.values()].sort((a, b) => b.passing.size - a.passing.size || a.depth - b.depth);
    return best ?? this.root;
  }

  /** Candidates that were judged on all trees. */
  get tried(): number {
    return [...this.#nodes.values()].reduce((sum, { tried }) => sum + tried.size, 0);
  }
}
