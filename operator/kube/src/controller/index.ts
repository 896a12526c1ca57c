/** From changes to reconciles. Imports api, cache, queue, runtime. */
export * from './controller.ts';
export * from './outcome.ts';
export * from './predicates.ts';
export * from './source.ts';
