/**
 * The vocabulary of our custom resources: every schema is made from these words, so that bounds, descriptions and
 * Kubernetes' extensions cannot be forgotten. Imports TypeBox only.
 */
export * from './mutability.ts';
export * from './scalars.ts';
