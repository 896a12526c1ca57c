/**
 * Acceptance scenarios of the product: their form, and the faults of a result; `local` plays them. Imports `format`, `run`, protocol and the
 * worker's attempt.
 */
export { acting, commandsOf, faultsOf, loadScenarios } from './scenario.ts';
export type { Expected, Observed, Scenario } from './scenario.ts';
