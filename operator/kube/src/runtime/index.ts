/** What is injected everywhere: clock, random, log, errors, metrics. Imports nothing of this package. */
export * from './backoff.ts';
export * from './clock.ts';
export * from './deadline.ts';
export * from './errors.ts';
export * from './log.ts';
