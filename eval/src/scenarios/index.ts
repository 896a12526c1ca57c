/** Acceptance scenarios of the product: their form, and the faults of a result. Imports `format`, `run`, protocol and the worker's attempt; `local` plays them. */
export { acting, commandsOf, faultsOf, loadScenarios } from './scenario.ts';
export type { Expected, Observed, Scenario } from './scenario.ts';
