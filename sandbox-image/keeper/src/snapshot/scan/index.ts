/** A tree as it is: nodes, stats that identify unchanged files, extended attributes, limits. May import `snapshot/base` and `snapshot/objects`. */
export { ModeGuard, openFile } from './modeGuard.ts';
export { type Below, NOTHING, Scanner, type TreeChanges } from './scanner.ts';
export { StatCache } from './statCache.ts';
export { NO_LIMITS, type TreeLimits, TreeTooLarge } from './treeLimits.ts';
