/** Reconciles that read their own writes. Imports api, runtime. */
export * from './consistency.ts';
