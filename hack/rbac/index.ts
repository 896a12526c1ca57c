/**
 * Compares the grants of the chart's accounts with their requests, by the audit log of an API server that enforces
 * their rules. Imports `hack/bench/operator/auditLog.ts`, and the operator's grants to workers.
 */
export { grantsTo, type Grant, type Manifest } from './grants.ts';
export { judge, type Implied, type Verdict } from './judge.ts';
export { asksOf, asksSince, type Asked, type Asks } from './asks.ts';
export { beginRecord, endRecord } from './record.ts';
export { accounts, implied, operatorAccount, rare } from './subjects.ts';
