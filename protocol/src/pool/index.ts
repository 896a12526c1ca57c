/**
 * Data that the operator gives the workers of a pool: one ConfigMap in the pool's namespace, which the workers watch.
 * May import the layers right of `pool` in docs/architecture.md.
 */
export * from './ablations.ts';
export * from './brief.ts';
