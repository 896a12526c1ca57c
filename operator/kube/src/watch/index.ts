/** One watch from its request to its end. Imports api, runtime, transport. */
export * from './lines.ts';
export * from './watch.ts';
