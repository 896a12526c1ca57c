/** A tree as it is: nodes, stats that identify unchanged files, extended attributes, limits. May import `snapshot/base` and `snapshot/objects`. */
export { ModeGuard } from './modeGuard.ts';
export { openFile } from './openFile.ts';
export { type Below, NOTHING, Scanner, type TreeChanges } from './scanner.ts';
export { StatCache } from './statCache.ts';
export { NO_LIMITS, type TreeLimits, TreeTooLarge } from './treeLimits.ts';
