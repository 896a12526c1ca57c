/** Unified diffs: taken apart, worked out in memory, applied by renames that can be undone. Knows files, nothing of HTTP. */
export { PatchJournal, answered, applyPatch, parsePatch, recoverPatches } from './patches.ts';
