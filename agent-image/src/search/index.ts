/**
 * The strategy Search, for pools without a chat model or an agent program: experts propose small edits, each is tried, and what
 * makes tests pass is kept. `repair` is the search; `rounds` chooses whom to ask and what to try, `proposals` asks experts, `trial`
 * tries one candidate, `node` is a tree that the search goes on from, `localise` finds the lines that failing tests execute.
 *
 * May import what `attempt` may import, and `attempt` but its engine.
 */
export { repair } from './repair.ts';
export { localise, type Focus } from './localise.ts';
export { SearchNode } from './node.ts';
export { propose } from './proposals.ts';
