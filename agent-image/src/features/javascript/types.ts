import type { Features } from '@agentfleet/protocol/inference';

/**
 * Features from the text of changed sources. The first two are known before anything runs; a model reads the others
 * beside the measurements of a run.
 */
export type SourceFeatures = Pick<Features, 'apiMismatch' | 'brokenNodes' | 'complexityDelta' | 'lintDelta'>;

/**
 * One source; null: unknown. In this order: uses of names, arity and keywords that are not there; places that do not parse; cyclomatic
 * complexity of the whole file; findings of a linter.
 */
export type Surface = Readonly<Record<keyof SourceFeatures, number | null>>;

/** For a file that is no program. */
export const plain: Surface = { apiMismatch: 0, brokenNodes: 0, complexityDelta: 0, lintDelta: 0 };

export const unreported: Surface = { apiMismatch: null, brokenNodes: null, complexityDelta: null, lintDelta: null };
