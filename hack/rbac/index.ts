/**
 * What accounts of the chart are granted, held against what they asked for, by the audit log of an API server that enforces their rules.
 * Imports `hack/bench/operator/auditLog.ts`, and of the operator what it grants to workers.
 */
export { grantsTo, type Grant, type Manifest } from './grants.ts';
export { judge, type Implied, type Verdict } from './judge.ts';
export { asksOf, asksSince, type Asked, type Asks } from './asks.ts';
export { beginRecord, endRecord } from './record.ts';
export { accounts, implied, operatorAccount, rare } from './subjects.ts';
