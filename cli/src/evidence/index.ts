/**
 * Results that a task leaves behind, read and checked from outside of the cluster: its artifacts by the hashes in the status, its event
 * log by its own chain. May import `base`, `protocol`, `kube`, `@agentfleet/client/results`, `@agentfleet/keeper/log` and
 * `@agentfleet/agent/store`.
 */
export { keyIn, mismatch, notesOf, numberOf } from './artifact.ts';
export { readTrace, type Trace } from './log.ts';
