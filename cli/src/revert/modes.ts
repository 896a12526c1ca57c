// cli, revert: modes of the revert script. May import base, text, evidence, source; protocol and the keeper's paths.

/** Modes of `revert.sh`: what it may do where a path is not as the task left it. */
export const modes = ['guard', 'force', 'dry-run'] as const;
export type Mode = (typeof modes)[number];
