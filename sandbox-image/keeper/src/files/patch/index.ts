/**
 * Unified diffs: parsed, computed in memory, applied by renames that can be undone. Knows files, but no HTTP. Part of
 * `files`: may import `auth`, `egress`, `link`, `log`, `network`, `base`, `client`, `snapshot` and protocol.
 */
export { PatchJournal, answered, applyPatch, parsePatch, recoverPatches } from './patches.ts';
