/** Scenarios that the product is accepted by: their form, and what is wrong with what came of one. Imports `format`; `local` plays them. */
export { acting, commandsOf } from './candidates.ts';
export { faultsOf } from './faults.ts';
export { loadScenarios } from './load.ts';
export type { Expected, ExpectedTrial, Observed, ProposalFile, Scenario } from './types.ts';
