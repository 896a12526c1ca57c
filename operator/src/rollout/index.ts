// Rollouts, which bring a new revision of a pool's experts or of a verifier to serve: shadow, canary, gates, a flip of the
// pointer, and back. Pure: controllers bring evidence and write down the state. May import `protocol` only.
export * from './gates/index.ts';
export * from './machine/index.ts';
export { goesToCanary, isControl } from './routing.ts';
export {
  countOf,
  defaultLooks,
  designOf,
  lastBound,
  valueAt,
  type Cumulative,
  type Design,
  type DesignGoal,
  type Table,
} from './statistics/index.ts';
