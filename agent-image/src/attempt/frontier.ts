import type { Noted } from './notes.ts';
import { SearchNode, stateAfter } from './node.ts';
import type { Start } from './start.ts';

/** How many times as good another tree has to be. */
const clearly = 2;

/** Descending; infinities differ by nothing. */
const byWorth = (a: number, b: number): number => (a === b ? 0 : b - a);

/**
 * The trees that the search may go on from. Rebuilt from the event log, so that a worker that takes over tries nothing
 * twice and loses no progress.
 */
export class Frontier {
  readonly #nodes = new Map<string, SearchNode>();
  readonly root: SearchNode;
  readonly #backtracking: boolean;

  /** @param options `backtracking: false`: an experiment that never goes back to a tree that it has left */
  constructor({ snapshot: { id, manifestDigest }, passing, proofs }: Start, noted: Noted, options = { backtracking: true }) {
    this.#backtracking = options.backtracking;
    this.root = this.#add(new SearchNode({ state: manifestDigest, parent: null, planId: 'repair', edits: [], snapshot: id, passing }));
    this.root.proofs = proofs;
    for (const { parent, state, candidate, edits, acts = [], snapshot, passing } of noted.accepted) {
      const above = this.#nodes.get(parent);
      // A name that does not follow from its parent is not ours.
      if (above === undefined || this.#nodes.has(state) || stateAfter(parent, candidate) !== state) continue;
      const acted = acts.length > 0;
      this.#add(new SearchNode({ state, parent: above, planId: 'repair', edits, snapshot, passing: new Set(passing), acted }));
    }
    for (const { state, id, step, result, facts } of noted.tried) {
      const node = this.#nodes.get(state);
      // What held in place and was cut off before its fresh container said more is found again; commands are not, see `earlierRun`.
      if (node === undefined || result === 'Reached') continue;
      node.tried.add(id);
      if (facts === undefined) continue;
      node.reach(facts.expert, step);
      if (facts.proposalShare !== undefined) node.nextShare = Math.min(node.nextShare, facts.proposalShare);
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

  /**
   * Where to go on; null when all are exhausted. A tree that nobody was asked about comes first: there progress was made.
   * Then the one whose next proposal is most likely the repair: trust in the tree × share of the proposal. That is the
   * order of optimal search (L. D. Stone, Theory of Optimal Search, 1975), and no tree is searched to its end while another
   * one promises more: a test that passes by accident is a trap to the greedy. Changing trees costs a restore, so that the
   * other one has to be clearly better.
   *
   * @param current where the search is now
   */
  best(current: SearchNode | null): SearchNode | null {
    const reachable = this.#backtracking ? [...this.#nodes.values()] : [...this.#nodes.values()].slice(-1);
    const open = reachable.filter(({ exhausted }) => !exhausted);
    const worth = ({ promise, nextShare }: SearchNode): number => promise * nextShare;
    const fresh = open.filter(({ nextShare }) => nextShare === Number.POSITIVE_INFINITY);
    const among = fresh.length > 0 ? fresh : open;
    const [best] = among.sort((a, b) => byWorth(worth(a), worth(b)) || b.passing.size - a.passing.size || a.depth - b.depth);
    if (best === undefined) return null;
    const stay = current !== null && among.includes(current) && worth(current) * clearly >= worth(best);
    return stay ? current : best;
  }

  /** The node that came furthest, exhausted or not. */
  furthest(): SearchNode {
    const [best] = [...this.#nodes.values()].sort((a, b) => b.passing.size - a.passing.size || a.depth - b.depth);
    return best ?? this.root;
  }

  /** Trees that are neither a node nor above it, and not given up yet; only those that have a step of their own in the plan. */
  aside(node: SearchNode): readonly SearchNode[] {
    const path = new Set<SearchNode>();
    for (let at: SearchNode | null = node; at !== null; at = at.parent) path.add(at);
    return [...this.#nodes.values()].filter((one) => !path.has(one) && !one.exhausted && one.planId !== this.root.planId);
  }

  /** Candidates that were judged on all trees. */
  get tried(): number {
    return [...this.#nodes.values()].reduce((sum, { tried }) => sum + tried.size, 0);
  }
}
