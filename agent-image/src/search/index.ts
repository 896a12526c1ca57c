/**
 * The strategy Search, for pools without a chat model or an agent program: experts propose small edits, each is tried,
 * and edits that make tests pass are kept. `repair` is the search; `rounds` selects expert and candidates, `proposals`
 * asks experts, `trial` tries one candidate, `node` is a tree from which the search continues, `localise` finds the
 * lines that failing tests execute.
 *
 * May import the imports of `attempt`, and `attempt` except its engine.
 */
export { repair } from './repair.ts';
export { localise, type Focus } from './localise.ts';
export { SearchNode } from './node.ts';
export { propose } from './proposals.ts';
