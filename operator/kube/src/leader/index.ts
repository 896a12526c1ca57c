/** One leader among several replicas, and the fence that keeps the others from writing. Imports api, runtime, transport. */
export { type ElectorOptions, LeaderElector, LeaseFence, type Lease, type LeaseCall, type LeaseClient, leases } from './elector.ts';
