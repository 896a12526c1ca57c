/**
 * Compares the grants of the chart's accounts with their requests, by the audit log of an API server that enforces
 * their rules. Imports `hack/bench/operator/auditLog.ts`, places of `hack/cluster`, what renders the chart (`install`,
 * `release`, `images`), and the operator's grants to workers.
 */
export { beginRecord, endRecord } from './record.ts';
export { implied, operatorAccount } from './subjects.ts';
