/** Scenarios that the product is accepted by: their form, and what is wrong with what came of one. Imports `format`; `local` plays them. */
export { acting, commandsOf, faultsOf, loadScenarios } from './scenario.ts';
export type { Expected, ExpectedTrial, Observed, ProposalFile, Scenario } from './scenario.ts';
