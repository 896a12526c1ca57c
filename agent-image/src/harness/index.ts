/**
 * The strategy of agent programs: a program of the user works inside the sandbox, one run a round, and its changes are
 * judged after each. `rounds.ts` decides, `program.ts` runs and watches it, `words.ts` has its input and the messages
 * about it; `endpoint` is its model, `acts.ts` its tools for the workspace where it may not write itself.
 *
 * May import `attempt`, `checks`, `rails`, `base`, `models`, `loop` (only `endpoint`), `protocol`, `kube` and the
 * keeper's client; `attempt` and `loop` do not import it.
 */
export { runHarness } from './rounds.ts';
