/**
 * The strategy of agent programs: a program of the user works inside the sandbox, one run a round, and what it left is judged after
 * each. `rounds.ts` decides, `program.ts` runs and watches it, `words.ts` is what it gets and what is said of it; `endpoint` is its
 * model, `acts.ts` what it changes the workspace by where it may not do so itself.
 *
 * May import `attempt`, `checks`, `rails`, `base`, `models`, `loop` (only `endpoint`), `protocol`, `kube` and the keeper's client;
 * `attempt` and `loop` do not import it.
 */
export { runHarness } from './rounds.ts';
