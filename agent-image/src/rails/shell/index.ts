/**
 * Analysis of what a command line or a script does, before it runs: the parsed tree (`prepare`, `statements`, `words`,
 * `expansions`), its commands (`command`, `run`, `builtins`, `redirects`, `fold`), commands inside of others (`unwrap` with
 * `prefixes`, `runners`, `unwrap` itself), programs in Python and JavaScript (`program`, `effects`), and what rails ask
 * about a command (`targets`, `readOnly`, `places`, `hosts`).
 *
 * May import `verdict`, which holds the types, `syntax`, and no rail.
 * Part of `rails`: may import protocol, kube and the keeper's client.
 */
export { analyse, analyseScript, type Analysis, type CommandAct } from './analyse.ts';
export { languageOf } from './unwrap.ts';
