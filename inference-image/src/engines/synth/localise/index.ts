/** Where to look: suspicion of lines from a spectrum, and of statements from lines and traces. */
export { siteSuspicion, traceLines, unreached, suspicionOf } from './site.ts';
